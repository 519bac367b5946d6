;;; bench-remote.el --- Projects on another host, against native TRAMP  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `dev/bench-remote' runs this below tests/remote/host.py, at round trips of 20
;; and 80 ms, or at those in the environment variable RTT.  Ways are measured in
;; turns, in one Emacs, with compiled code.  Each ratio of medians has a gate.
;; With SESSION in the environment it records docs/remote.txt instead: the same
;; tree, by a tool and natively.

;;; Code:

(require 'cl-lib)
(require 'backstaff)
(require 'backstaff-remote)
(require 'tramp)
(require 'tramp-cmds)
(require 'project)

(setq tramp-persistency-file-name nil
      tramp-verbose 1)

(defconst bench-remote-host "/ssh:host:" "The host.")

(defconst bench-remote-main
  (expand-file-name "../py_backend/backstaff/__main__.py"
                    (file-name-directory (or load-file-name buffer-file-name)))
  "The server's own file.")

(defvar bench-remote-root nil "The tree, as it is called there.")

(defvar bench-remote-turns 7 "How often each way is measured.")

(defvar bench-remote-missed 0 "How many gates were missed.")

(defun bench-remote-tell (command)
  "Tell the proxy before the host COMMAND."
  (let* ((answered nil)
         (process (make-network-process
                   :name "control" :host "127.0.0.1" :noquery t
                   :service (string-to-number (getenv "BACKSTAFF_TEST_CONTROL"))
                   :filter (lambda (_ _) (setq answered t)))))
    (process-send-string process (concat command "\n"))
    (while (not answered) (accept-process-output process 0.05 nil t))
    (delete-process process)))

(defun bench-remote-plant (root)
  "Make 2,000 files in 211 directories below ROOT, and some flat directories."
  (dotimes (one 10)
    (dotimes (two 20)
      (let ((place (format "%stree/d%d/e%d/" root one two)))
        (make-directory place t)
        (dotimes (three 10)
          (write-region "" nil (format "%sf%d.txt" place three) nil 'silent)))))
  (dolist (count '(100 1000))
    (make-directory (format "%sflat%d/" root count) t)
    (dotimes (number count)
      (write-region "" nil (format "%sflat%d/f%04d" root count number) nil 'silent))))

(defun bench-remote-call (id args)
  "Call the tool ID with ARGS there; fail unless it succeeds."
  (let ((reply (backstaff-call id args (list :root bench-remote-root))))
    (unless (plist-get reply :ok)
      (error "%s" (plist-get reply :text)))
    reply))

(defun bench-remote-list (path)
  "List the directory PATH there."
  (bench-remote-call "agent-q/list_directory" (list :path path)))

(defun bench-remote-walk ()
  "Return the number of files in the whole tree there, with their paths."
  (cl-loop for offset = 0 then (plist-get data :next-offset)
           while offset
           for data = (plist-get (bench-remote-call
                                  "workspace/search_files"
                                  `(:path "tree" :query "**" :kind "glob" :max_results 1000
                                    :offset ,offset))
                                 :data)
           sum (length (plist-get data :files))))

(defun bench-remote-native (function &rest arguments)
  "Call FUNCTION with ARGUMENTS, on files there, with nothing in TRAMP's cache."
  (tramp-flush-directory-properties (tramp-dissect-file-name bench-remote-root) "/")
  (apply function arguments))

(defvar bench-remote-echo nil "A process that sends back what it gets.")

(defun bench-remote-raw-echo ()
  "Send a line there and back, over the same connection."
  (let ((heard nil))
    (set-process-filter bench-remote-echo (lambda (_ _) (setq heard t)))
    (process-send-string bench-remote-echo "0123456789\n")
    (while (not heard) (accept-process-output bench-remote-echo 0.5 nil t))))

(defun bench-remote-process (filter &rest command)
  "Start COMMAND there, on a terminal that changes nothing, and return the process.
It has FILTER."
  (let ((default-directory (concat bench-remote-host "/")))
    (make-process :name "bench-remote" :buffer (generate-new-buffer " *bench-remote*")
                  :file-handler t :noquery t :coding 'binary :filter filter
                  :command `("sh" "-c" "stty raw -echo; exec \"$@\"" "sh" ,@command))))

(defun bench-remote-start ()
  "Start a server, and end it."
  (backstaff-server--stop "bench")
  (bench-remote-list "."))

(defun bench-remote-forget ()
  "Empty the host's cache."
  (delete-directory (expand-file-name "home/.cache/backstaff"
                                      (getenv "BACKSTAFF_TEST_HOST"))
                    t))

(defun bench-remote-miss ()
  "Start a server on a host with an empty cache."
  (bench-remote-forget)
  (bench-remote-start))

(defvar bench-remote-payload nil "A file as large as what goes to a host.")

(defun bench-remote-installed ()
  "Start the server from files installed there, until its first answer."
  (backstaff-server--stop "bench")
  (let* ((answer "")
         (process (bench-remote-process
                   (lambda (_ text) (setq answer (concat answer text)))
                   (getenv "BACKSTAFF_PYTHON") "-I" bench-remote-main "serve" "--stdio")))
    (process-send-string process (backstaff-message-frame
                                  `(call 1 agent-q/list_directory
                                         ((:path ".") (:root ,(file-local-name
                                                               bench-remote-root))))))
    (while (not (string-match-p "return 1" answer))
      (accept-process-output process 0.5 nil t))
    (delete-process process)))

(defun bench-remote-copy ()
  "Copy the server's code with TRAMP, make it private and move it."
  (let ((new (concat bench-remote-root "copy.new")))
    (copy-file bench-remote-payload new t)
    (set-file-modes new #o600)
    (rename-file new (concat bench-remote-root "copy") t)
    (bench-remote-native #'file-attributes (concat bench-remote-root "copy"))))

(defun bench-remote-medians (turns &rest ways)
  "Measure WAYS, functions, in TURNS turns; return the median of each, in ms."
  (let ((times (mapcar #'ignore ways)))
    (when (> turns 1)
      (mapc #'funcall ways))
    (dotimes (_ turns)
      (cl-loop for way in ways
               for cell on times
               do (let ((start (float-time)))
                    (garbage-collect)
                    (setq start (float-time))
                    (funcall way)
                    (push (* 1e3 (- (float-time) start)) (car cell)))))
    (mapcar (lambda (list) (nth (/ turns 2) (sort list #'<))) times)))

(defun bench-remote-row (name ms base gate &optional least)
  "Print that NAME took MS, compared with BASE; GATE is the maximum ratio.
It is the least that BASE / MS may be if LEAST is non-nil, else the most that
MS / BASE may be."
  (let* ((ratio (if least (/ base ms) (/ ms base)))
         (held (if least (>= ratio gate) (<= ratio gate))))
    (unless held (cl-incf bench-remote-missed))
    (princ (format "%-46s %9.1f %9.1f %8.2f  %s %-5s %s\n" name ms base ratio
                   (if least ">=" "<=") gate (if held "ok" "MISSED")))))

(defun bench-remote-calls (rtt)
  "Compare calls with an echo and with native TRAMP, at RTT ms."
  (let ((flat10 "tree/d0/e0"))
    (pcase-let ((`(,echo ,ten ,hundred ,thousand ,n10 ,n100 ,n1000)
                 (bench-remote-medians
                  bench-remote-turns #'bench-remote-raw-echo
                  (lambda () (bench-remote-list flat10))
                  (lambda () (bench-remote-list "flat100"))
                  (lambda () (bench-remote-list "flat1000"))
                  (lambda () (bench-remote-native #'directory-files-and-attributes
                                                  (concat bench-remote-root flat10)))
                  (lambda () (bench-remote-native #'directory-files-and-attributes
                                                  (concat bench-remote-root "flat100")))
                  (lambda () (bench-remote-native #'directory-files-and-attributes
                                                  (concat bench-remote-root "flat1000"))))))
      (bench-remote-row "list 10 / raw ssh echo" ten echo 1.2)
      (bench-remote-row "list 100 / raw ssh echo" hundred echo 1.2)
      (bench-remote-row "list 1000 / raw ssh echo" thousand echo 1.6)
      (bench-remote-row "list 10, native / ours" ten n10 2 t)
      (bench-remote-row "list 100, native / ours" hundred n100 2 t)
      (bench-remote-row "list 1000, native / ours" thousand n1000
                        (if (= rtt 20) 3 2.5) t))
    ;; Natively it takes most of a minute, so it is done once.
    (pcase-let ((`(,walk) (bench-remote-medians 3 #'bench-remote-walk))
                (`(,native)
                 (bench-remote-medians
                  1 (lambda ()
                      (bench-remote-native #'directory-files-recursively
                                           (concat bench-remote-root "tree") "")))))
      (bench-remote-row "walk 2,000 files, native / ours" walk native 200 t))
    (pcase-let ((`(,walk ,native)
                 (bench-remote-medians
                  3 #'bench-remote-walk
                  (lambda ()
                    (bench-remote-native
                     #'project-files
                     (cons 'transient (concat bench-remote-root "tree/")))))))
      (bench-remote-row "project-files, native / ours" walk native 4 t))))

(defun bench-remote-starts (rtt)
  "Compare ways to start, at RTT ms."
  (pcase-let ((`(,installed ,hit ,miss ,copy)
               (bench-remote-medians 3 #'bench-remote-installed #'bench-remote-start
                                     #'bench-remote-miss #'bench-remote-copy)))
    (bench-remote-row "start, kept sources / installed files" hit installed 1.5)
    (bench-remote-row (format "start, sent sources - installed (%d ms and 2 RTT)" 80)
                      (max 1 (- miss installed)) (+ 80.0 (* 2 rtt)) 1.0)
    (bench-remote-row "TRAMP's copy + start / start with upload" miss (+ copy installed)
                      3 t)))

(defun bench-remote-limit ()
  "Compare a call on a dead network with its limit."
  (let ((backstaff-call-timeout 2))
    (bench-remote-list ".")
    (bench-remote-tell "stop")
    (let ((start (float-time)))
      (condition-case nil (bench-remote-list ".") (backstaff-timeout nil))
      (bench-remote-row "call on a dead network / its limit of 2 s"
                        (* 1e3 (- (float-time) start)) 2000.0 1.15))
    (bench-remote-tell "go")))

(defun bench-remote-at (rtt)
  "Measure all at RTT ms."
  (princ (format "\nround trip %d ms, Emacs %s, TRAMP %s; medians\n%-46s %9s %9s %8s  gate\n"
                 rtt emacs-version tramp-version "" "ms" "against" "ratio"))
  (bench-remote-tell (format "delay %f" (/ rtt 2000.0)))
  (setq bench-remote-echo (bench-remote-process #'ignore "cat"))
  (bench-remote-list ".")
  (bench-remote-calls rtt)
  (bench-remote-starts rtt)
  (bench-remote-limit)
  (delete-process bench-remote-echo)
  (backstaff-server--stop "bench"))


;;; The recorded session

(defun bench-remote-step (what function)
  "Write WHAT, the value of FUNCTION, and the seconds that it took."
  (princ (format "> %s\n" what))
  (let* ((start (float-time)) (text (funcall function)))
    (princ (format "%s[%.2f s]\n\n" text (- (float-time) start)))))

(defun bench-remote-session ()
  "Show one tree by the tool and natively, at 80 ms."
  (backstaff-server--stop "bench")
  (bench-remote-forget)
  (bench-remote-tell "delay 0.04")
  (princ (format "A project on another host, %s, at a round trip of 80 ms.
Recorded by `dev/bench-remote --record'; Emacs %s, TRAMP %s, connected already.\n\n"
                 "2,000 files in 211 directories" emacs-version tramp-version))
  (let ((head (lambda (text) (concat (string-join (seq-take (split-string text "\n") 6) "\n")
                                     "\n…\n")))
        (args '(:path "tree" :max_entries 1000 :entry_kind "all")))
    (dolist (what '("the first call: starts the server there, and sends what it needs"
                    "the same call again"))
      (bench-remote-step
       (format "(backstaff-call \"workspace/tree\" '%S)   ; %s" args what)
       (lambda () (funcall head (plist-get (bench-remote-call "workspace/tree" args) :text)))))
    (bench-remote-step
     "(backstaff-call \"workspace/search_files\" '(:path \"tree\" :query \"**\" …))   ; all 2,000, two pages"
     (lambda () (format "%d files\n" (bench-remote-walk))))
    (bench-remote-step
     "(directory-files-recursively \"/ssh:host:…/tree\" \"\")   ; native TRAMP"
     (lambda ()
       (format "%d files\n" (length (bench-remote-native
                                     #'directory-files-recursively
                                     (concat bench-remote-root "tree") "")))))))

(defun bench-remote-batch ()
  "Measure at 20 and at 80 ms, or record a session; then leave Emacs.
The exit status says whether all gates were held."
  (unless (getenv "BACKSTAFF_TEST_HOST")
    (message "There is no host to measure")
    (kill-emacs 1))
  (let ((root (file-name-as-directory (file-truename (make-temp-file "bench" t)))))
    (unwind-protect
        (progn
          (setq backstaff-server-command
                (list (getenv "BACKSTAFF_PYTHON") "-I" bench-remote-main)
                ;; The peer itself; a wrapper found first would cost time.
                backstaff-remote-python (getenv "BACKSTAFF_PYTHON")
                bench-remote-root (concat bench-remote-host root))
          (bench-remote-plant root)
          (unless (file-exists-p (concat bench-remote-host "/"))
            (error "There is no connection"))
          (bench-remote-list ".")         ; which makes the payload
          (setq bench-remote-payload (concat root "payload"))
          (write-region (base64-decode-string
                         (cdar (nth 2 (gethash 'bundle backstaff-remote--known))))
                        nil bench-remote-payload nil 'silent)
          (if (getenv "SESSION")
              (bench-remote-session)
            (mapc #'bench-remote-at
                  (mapcar #'string-to-number
                          (split-string (or (getenv "RTT") "20 80"))))
            (princ (format "\n%d gates missed\n" bench-remote-missed))))
      (delete-directory root t)))
  (kill-emacs (min bench-remote-missed 1)))

(provide 'bench-remote)
;;; bench-remote.el ends here
