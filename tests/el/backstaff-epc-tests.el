;;; backstaff-epc-tests.el --- Tests of backstaff-epc.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-epc)


;;; Calls that succeed

(ert-deftest backstaff-epc-call-returns-the-value ()
  (backstaff-test-with-connection peer
    (should (equal (backstaff-epc-call peer 'echo '(1 "a" (:b nil)))
                   '(1 "a" (:b nil))))
    (should (equal (backstaff-epc-call peer "echo" nil) nil))))

(ert-deftest backstaff-epc-async-call-succeeds-once ()
  (backstaff-test-with-connection peer
    (let ((values nil))
      (backstaff-epc-call-async peer 'echo '(1)
                                :success-fn (lambda (value) (push value values))
                                :error-fn #'error)
      (should-not values)
      (backstaff-test-wait-for values)
      (backstaff-epc-call peer 'echo nil)
      (should (equal values '((1)))))))

(ert-deftest backstaff-epc-largest-frame-comes-through ()
  (backstaff-test-with-connection peer
    (let ((value (backstaff-epc-call peer 'largest nil)))
      (should (> (length value) (- #xffffff 32)))
      (should (equal (string-trim value "x+") "")))
    (should (equal (backstaff-epc-call peer 'echo '(1)) '(1)))))

(ert-deftest backstaff-epc-large-frames-cost-in-proportion ()
  :tags '(clock)
  (backstaff-test-with-connection peer
    (cl-flet ((cost (size)
                (cl-loop repeat 3 minimize
                         (backstaff-test-work
                           (backstaff-epc-call peer 'sized (list size))))))
      ;; With quadratic work it would be 64 times as much.
      (should (< (cost 16000000) (* 24 (cost 2000000)))))))

(ert-deftest backstaff-epc-done-frames-do-not-pile-up ()
  (backstaff-test-with-connection peer
    (let* ((body (concat "(return 99 \"" (make-string 1500000 ?x) "\")\n"))
           (frame (format "%06x%s" (length body) body)))
      (backstaff-epc--receive peer (concat frame (substring frame 0 1000)))
      (should (= (buffer-size (backstaff-epc--buffer peer)) 1000))
      (backstaff-epc--receive peer (substring frame 1000))
      (should (= (buffer-size (backstaff-epc--buffer peer)) 0))
      (should (= (length backstaff-test-notes) 2)))))

(ert-deftest backstaff-epc-calls-in-flight-share-one-timer ()
  (backstaff-test-with-connection peer
    (let ((before (length timer-list))
          (ended 0))
      (dotimes (_ 100)
        (backstaff-epc-call-async peer 'stall nil :timeout 60
                                  :error-fn (lambda (_) (cl-incf ended))))
      (should (= (length timer-list) (1+ before)))
      (backstaff-epc-close peer "the test is over")
      (should (= ended 100))
      (should (= (length timer-list) before)))))

(ert-deftest backstaff-epc-calls-of-one-deadline-end-together ()
  (backstaff-test-with-connection peer
    (let ((told nil))
      (dotimes (_ 2)
        (backstaff-epc-call-async peer 'stall nil :timeout 0.2
                                  :error-fn (lambda (condition) (push (car condition) told))))
      (backstaff-test-wait-for (= (length told) 2))
      (should (equal told '(backstaff-timeout backstaff-timeout))))))

(ert-deftest backstaff-epc-answer-in-last-words-counts ()
  (backstaff-test-with-connection peer
    (should (eq (backstaff-epc-call peer 'answer-and-die nil) 'done))
    (backstaff-test-wait-for (not (backstaff-epc-live-p peer)))))

(ert-deftest backstaff-epc-names-keep-every-byte ()
  (backstaff-test-with-connection peer
    (let ((names (backstaff-epc-call peer 'names nil)))
      (should (equal names (list "é" "\N{GRINNING FACE}"
                                 (concat "clich" (string (unibyte-char-to-multibyte #xe9)))
                                 (concat "é" (string (unibyte-char-to-multibyte #xff)))
                                 "ok")))
      (should (cl-every #'multibyte-string-p names)))))

(ert-deftest backstaff-epc-leaves-options-alone ()
  (backstaff-test-with-connection peer
    (let ((before (list gc-cons-threshold read-process-output-max)))
      (backstaff-epc-call peer 'echo nil)
      (should (equal before (list gc-cons-threshold read-process-output-max))))))


;;; Arguments

(ert-deftest backstaff-epc-unfit-arguments-are-refused ()
  (backstaff-test-with-connection peer
    (let ((circle (list 1 2)) (nested (list 1)) (deep nil))
      (setcdr (cdr circle) circle)
      (setcar nested nested)
      (dotimes (_ 200) (setq deep (list deep)))
      (dolist (argument (list circle nested deep))
        (backstaff-test-should-fail 'backstaff-argument-error "circular"
          (backstaff-epc-call peer 'echo (list argument)))))
    (dolist (argument (list (current-buffer) (make-hash-table) #'ignore
                            (point-marker) (symbol-function 'car)))
      (unless (symbolp argument)
        (backstaff-test-should-fail 'backstaff-argument-error "of type"
          (backstaff-epc-call peer 'echo (list argument)))))
    (backstaff-test-should-fail 'backstaff-argument-error "16777215 are allowed"
      (backstaff-epc-call peer 'echo (list (make-string 17000000 ?x))))
    (should (equal (backstaff-epc-call peer 'echo '(1)) '(1)))))


;;; Calls that fail alone

(ert-deftest backstaff-epc-refusals-differ-from-values ()
  (backstaff-test-with-connection peer
    (backstaff-test-should-fail 'backstaff-remote-error "no such thing"
      (backstaff-epc-call peer 'refuse nil))
    (backstaff-test-should-fail 'backstaff-remote-error "no such method"
      (backstaff-epc-call peer 'misuse nil))
    (should (equal (backstaff-epc-call peer 'echo '(error "not one"))
                   '(error "not one")))))

(ert-deftest backstaff-epc-call-times-out ()
  (backstaff-test-with-connection peer
    (let ((start (float-time)))
      (backstaff-test-should-fail 'backstaff-timeout
          "the fake server did not answer stall within 0.2 seconds"
        (backstaff-epc-call peer 'stall nil :timeout 0.2))
      (should (< 0.2 (- (float-time) start))))
    (should (equal (backstaff-epc-call peer 'cancellations nil) '(1)))))

(ert-deftest backstaff-epc-async-call-times-out-once ()
  (backstaff-test-with-connection peer
    (let ((ends nil))
      (backstaff-epc-call-async peer 'stall nil :timeout 0.1
                                :success-fn (lambda (_) (push 'value ends))
                                :error-fn (lambda (problem) (push problem ends)))
      (backstaff-test-wait-for ends)
      ;; This makes the answer come after all.
      (backstaff-epc-call peer 'echo nil)
      (should (equal (mapcar #'car ends) '(backstaff-timeout))))))

(ert-deftest backstaff-epc-calls-time-out-each-in-its-time ()
  (backstaff-test-with-connection peer
    (let ((ends nil))
      (cl-loop for (name timeout) in '((late 0.4) (first 0.1) (second 0.1) (third 0.2))
               do (let ((name name))
                    (backstaff-epc-call-async
                     peer 'stall nil :timeout timeout
                     :error-fn (lambda (problem)
                                 (push (cons name (car problem)) ends)
                                 (when (eq name 'first)
                                   (throw 'backstaff-test-left 'left))))))
      (should (eq (catch 'backstaff-test-left
                    (backstaff-test-wait-for (cdr ends)))
                  'left))
      (backstaff-test-wait-for (= (length ends) 4))
      (should (equal (reverse ends) '((first . backstaff-timeout)
                                      (second . backstaff-timeout)
                                      (third . backstaff-timeout)
                                      (late . backstaff-timeout)))))))

(ert-deftest backstaff-epc-late-answer-is-dropped-and-noted ()
  :tags '(check-37)
  (backstaff-test-with-connection peer
    (backstaff-test-condition (backstaff-epc-call peer 'stall nil :timeout 0.1))
    (should (equal (backstaff-epc-call peer 'echo '(mine)) '(mine)))
    (should (equal backstaff-test-notes '("dropped a late or stray answer: return 1")))))

(ert-deftest backstaff-epc-stray-answers-are-dropped-and-noted ()
  :tags '(check-37)
  (backstaff-test-with-connection peer
    (should (eq (backstaff-epc-call peer 'twice nil) 'first))
    (should (equal (backstaff-epc-call peer 'echo '(1)) '(1)))
    (should (equal (reverse backstaff-test-notes)
                   '("dropped a late or stray answer: return 999999"
                     "dropped a late or stray answer: epc-error nil"
                     "dropped a late or stray answer: return 1")))))

(ert-deftest backstaff-epc-cancel-ends-a-call-once ()
  (backstaff-test-with-connection peer
    (let* ((ends nil)
           (handle (backstaff-epc-call-async
                    peer 'stall nil
                    :success-fn (lambda (_) (push 'value ends))
                    :error-fn (lambda (problem) (push (car problem) ends)))))
      (should (backstaff-epc-cancel peer handle))
      (should (equal ends '(backstaff-cancelled)))
      (should-not (backstaff-epc-cancel peer handle))
      (should (equal (backstaff-epc-call peer 'cancellations nil) (list handle)))
      (should (equal ends '(backstaff-cancelled))))))

(ert-deftest backstaff-epc-waiting-costs-no-time-of-the-processor ()
  :tags '(clock)
  (backstaff-test-with-connection peer
    (should (< (backstaff-test-work
                 (backstaff-test-condition (backstaff-epc-call peer 'stall nil :timeout 1)))
               0.3))))


;;; Leaving a call

(defun backstaff-epc-tests-quit-during (peer)
  "Call PEER, let \\[keyboard-quit] be typed meanwhile, and check what comes of it."
  (run-at-time 0.2 nil (lambda () (setq quit-flag t)))
  (should (equal (backstaff-test-condition (backstaff-epc-call peer 'stall nil))
                 '(quit)))
  (should-not quit-flag)
  (should (equal (backstaff-epc-call peer 'cancellations nil) '(1))))

(ert-deftest backstaff-epc-quit-ends-the-wait ()
  :tags '(check-42)
  (backstaff-test-with-connection peer
    (backstaff-epc-tests-quit-during peer)))

(ert-deftest backstaff-epc-quit-ends-the-wait-where-quitting-is-inhibited ()
  :tags '(check-42)
  (backstaff-test-with-connection peer
    (let ((inhibit-quit t))
      (backstaff-epc-tests-quit-during peer))))

(ert-deftest backstaff-epc-throw-ends-the-wait ()
  (backstaff-test-with-connection peer
    (should (eq 'left (with-timeout (0.1 'left)
                        (backstaff-epc-call peer 'stall nil))))
    (should (equal (backstaff-epc-call peer 'cancellations nil) '(1)))
    (should (zerop (hash-table-count (backstaff-epc--pending peer))))))


;;; Continuations

(ert-deftest backstaff-epc-continuation-may-call-and-wait ()
  (backstaff-test-with-connection peer
    (let ((values nil))
      (dotimes (number 3)
        (backstaff-epc-call-async
         peer 'echo (list number)
         :success-fn
         (lambda (value)
           (push (list value (backstaff-epc-call peer 'echo (list 'inner number)))
                 values))))
      (should (equal (backstaff-epc-call peer 'echo '(outer)) '(outer)))
      (backstaff-test-wait-for (= (length values) 3))
      (should (equal (sort values (lambda (a b) (< (caar a) (caar b))))
                     '(((0) (inner 0)) ((1) (inner 1)) ((2) (inner 2))))))))

(ert-deftest backstaff-epc-call-works-in-another-filter ()
  (backstaff-test-with-connection peer
    (let* ((value nil)
           (other (make-process
                   :name "backstaff-other" :command '("cat") :connection-type 'pipe
                   :noquery t :filter
                   (lambda (_process _text)
                     (setq value (list inhibit-quit
                                       (backstaff-epc-call peer 'echo '(1))))))))
      (process-send-string other "go\n")
      (backstaff-test-wait-for value)
      (should (equal value '(t (1)))))))

(ert-deftest backstaff-epc-other-processes-are-served-in-a-long-wait ()
  (backstaff-test-with-connection peer
    (let* ((heard nil)
           (other (make-process
                   :name "backstaff-other" :command '("cat") :connection-type 'pipe
                   :noquery t :filter (lambda (_ text) (setq heard text)))))
      (process-send-string other "go\n")
      (backstaff-test-condition (backstaff-epc-call peer 'stall nil :timeout 0.5))
      (should (equal heard "go\n")))))


;;; A peer that dies or hangs

(ert-deftest backstaff-epc-death-fails-every-call-at-once ()
  :tags '(check-38)
  (backstaff-test-with-connection peer
    (let ((ends nil))
      (dotimes (_ 3)
        (backstaff-epc-call-async peer 'stall nil
                                  :error-fn (lambda (problem) (push problem ends))))
      (run-at-time 0.1 nil (lambda ()
                             (signal-process (backstaff-epc--process peer) 'KILL)))
      (backstaff-test-should-fail 'backstaff-connection-lost
          "the fake server was killed by signal 9"
        (backstaff-epc-call peer 'stall nil))
      (should (equal (mapcar #'car ends) (make-list 3 'backstaff-connection-lost)))
      (backstaff-test-should-fail 'backstaff-connection-lost "signal 9"
        (backstaff-epc-call peer 'echo nil)))))

(ert-deftest backstaff-epc-exit-error-has-its-status-and-last-words ()
  :tags '(check-38)
  (backstaff-test-with-connection peer
    (backstaff-test-should-fail 'backstaff-connection-lost
        "exited with status 7:\nfirst line\nlast words"
      (backstaff-epc-call peer 'die nil))))

(ert-deftest backstaff-epc-hang-up-without-an-exit-ends-at-the-deadline ()
  (backstaff-test-with-connection peer
    (backstaff-test-should-fail 'backstaff-timeout "hang-up within 0.3"
      (backstaff-epc-call peer 'hang-up nil :timeout 0.3))))

(ert-deftest backstaff-epc-half-a-frame-then-silence-ends-at-the-deadline ()
  :tags '(check-31)
  (backstaff-test-with-connection peer
    (backstaff-test-should-fail 'backstaff-timeout "half within 0.2"
      (backstaff-epc-call peer 'half nil :timeout 0.2))))

(ert-deftest backstaff-epc-peer-that-keeps-emacs-reading-ends-at-the-limit ()
  (dolist (method '(flood hang-up-late))
    (backstaff-test-with-connection peer
      (should-error (backstaff-epc-call peer method nil :timeout 0.2)
                    :type 'backstaff-error))))

(ert-deftest backstaff-epc-answer-counts-though-the-peer-keeps-emacs-reading ()
  (dolist (inhibit-quit '(nil t))
    (backstaff-test-with-connection peer
      (backstaff-epc-call peer 'echo nil) ; it takes a while to start
      (should (eq 'done (backstaff-epc-call peer 'answer-and-hang-up nil))))))

(ert-deftest backstaff-epc-slow-call-inside-the-wait-of-another-breaks-nothing ()
  (backstaff-test-with-connection peer
    (let ((inner nil))
      (run-at-time 0 nil
                   (lambda ()
                     (setq inner (condition-case problem
                                     (backstaff-epc-call peer 'stall nil :timeout 2)
                                   (backstaff-error (car problem))))))
      ;; The answer comes at once, but the call returns after the inner one.
      (should (equal '("x") (backstaff-epc-call peer 'echo '("x"))))
      (should (eq inner 'backstaff-timeout))
      (should (backstaff-epc-live-p peer)))))

(ert-deftest backstaff-epc-wait-inside-that-of-another-call-is-not-deaf ()
  (backstaff-test-with-connection peer
    (let ((inner nil))
      (run-at-time 0 nil
                   (lambda ()
                     ;; After the guard of the outer call, which ends first.
                     (run-at-time 1.5 nil #'backstaff-epc-call-async peer 'echo '("y")
                                  :success-fn (lambda (value) (setq inner value)))
                     (backstaff-test-wait-for inner)))
      (should (equal '("x") (backstaff-epc-call peer 'echo '("x"))))
      (should (equal inner '("y"))))))

(ert-deftest backstaff-epc-peer-that-keeps-emacs-reading-ends-in-a-timer-too ()
  (backstaff-test-with-connection peer
    (let ((condition nil))
      (run-at-time 0 nil
                   (lambda ()
                     (condition-case problem
                         (backstaff-epc-call peer 'flood nil :timeout 0.2)
                       (backstaff-error (setq condition problem)))))
      (backstaff-test-wait-for condition)
      (should condition))))

(ert-deftest backstaff-epc-wait-for-a-stopped-peer-costs-nothing ()
  :tags '(clock)
  (backstaff-test-with-connection peer
    (run-at-time 0.1 nil (lambda ()
                           (signal-process (backstaff-epc--process peer) 'STOP)))
    (should (< (backstaff-test-work
                 (backstaff-test-should-fail 'backstaff-timeout "stall"
                   (backstaff-epc-call peer 'stall nil :timeout 1.5)))
               0.7))))

(ert-deftest backstaff-epc-answer-that-came-while-emacs-was-suspended-counts ()
  (backstaff-test-with-connection peer
    (let ((ends nil)
          (stat (format "/proc/%d/stat" (process-id (backstaff-epc--process peer)))))
      (backstaff-epc-call-async
       peer 'answer-and-die nil :timeout 0
       :success-fn (lambda (answer) (push answer ends))
       :error-fn (lambda (problem) (push problem ends)))
      ;; Until the peer has answered and ended, Emacs reads nothing, and no timer runs.
      (call-process "sh" nil nil nil "-c"
                    (format "while grep -qs ') [^Z] ' %s; do :; done" stat))
      (should-not ends)
      (backstaff-test-wait-for ends)
      (should (equal ends '(done))))))

(ert-deftest backstaff-epc-300-calls-in-flight-are-all-answered ()
  (backstaff-test-with-connection peer
    (let ((values nil))
      (dotimes (number 300)
        (backstaff-epc-call-async
         peer 'echo (list number) :success-fn (lambda (value) (push (car value) values))))
      (backstaff-test-wait-for (= (length values) 300))
      (should (equal (nreverse values) (number-sequence 0 299))))))

(ert-deftest backstaff-epc-peer-stopped-in-a-call-ends-at-the-deadline ()
  :tags '(check-38)
  (backstaff-test-with-connection peer
    (run-at-time 0.1 nil (lambda ()
                           (signal-process (backstaff-epc--process peer) 'STOP)))
    (backstaff-test-should-fail 'backstaff-timeout "stall within 0.3"
      (backstaff-epc-call peer 'stall nil :timeout 0.3))
    ;; Emacs sends nothing to a process that it knows to be stopped.
    (backstaff-test-should-fail 'backstaff-connection-lost "stopped"
      (backstaff-epc-call peer 'echo nil))))

(ert-deftest backstaff-epc-deaf-peer-is-unresponsive-until-it-answers ()
  (backstaff-test-with-connection peer
    (backstaff-epc-call peer 'deaf nil)
    (dotimes (_ 2)
      (should-not (backstaff-epc-unresponsive-p peer))
      (backstaff-test-should-fail 'backstaff-timeout "echo within 0.2"
        (backstaff-epc-call peer 'echo nil :timeout 0.2)))
    (should (backstaff-epc-unresponsive-p peer))
    (signal-process (backstaff-epc--process peer) 'USR1)
    (should (equal (backstaff-epc-call peer 'echo '(1)) '(1)))
    (should-not (backstaff-epc-unresponsive-p peer))))

(ert-deftest backstaff-epc-deaf-peer-holds-up-no-large-request ()
  "Nobody knows which part of it has gone, so no other request follows."
  (backstaff-test-with-connection peer
    (let ((large (make-string 500000 ?x)) (inhibit-quit t))
      (backstaff-epc-call peer 'deaf nil)
      (backstaff-test-should-fail 'backstaff-connection-lost "takes no more requests .*cut short"
        (backstaff-epc-call peer 'echo (list large) :timeout 0.3))
      (should-not (backstaff-epc-live-p peer)))))

(ert-deftest backstaff-epc-deadline-of-a-request-cuts-no-other-short ()
  "A timer makes a call while the request of another one fills the pipe."
  (backstaff-test-with-connection peer
    (let ((large (make-string 500000 ?x)) (inner nil) (begun (float-time)))
      (backstaff-epc-call peer 'deaf nil)
      (run-at-time 0.1 nil (lambda ()
                             (setq inner (backstaff-test-condition
                                           (backstaff-epc-call peer 'echo (list large)
                                                               :timeout 0.6)))))
      (backstaff-test-should-fail 'backstaff-connection-lost "takes no more requests"
        (backstaff-epc-call peer 'echo (list large) :timeout 0.3))
      (should (eq (car inner) 'backstaff-connection-lost))
      (should (> (- (float-time) begun) 0.6)))))

(ert-deftest backstaff-epc-deadline-of-a-request-cuts-no-wait-short ()
  "A filter waits for an answer while Emacs sends the request of another call."
  (backstaff-test-with-connection peer
    (let ((send (symbol-function 'process-send-string)) (inner nil))
      (cl-letf (((symbol-function 'process-send-string)
                 (lambda (&rest arguments)
                   (fset 'process-send-string send)
                   (setq inner (backstaff-test-condition
                                 (backstaff-epc-call peer 'stall nil :timeout 0.4)))
                   (apply send arguments))))
        ;; This call may time out, because the other one waits longer; only that one counts.
        (ignore-errors (backstaff-epc-call peer 'echo '(1) :timeout 0.1)))
      (should (eq (car inner) 'backstaff-timeout))
      (should (equal (backstaff-epc-call peer 'echo '(1)) '(1))))))

(ert-deftest backstaff-epc-quit-before-a-request-is-sent-leaves-no-call ()
  (backstaff-test-with-connection peer
    (let ((debug-on-quit nil))          ; else ERT lets no handler see a quit
      (cl-letf (((symbol-function 'backstaff-epc--set-deadline)
                 (lambda (&rest _) (signal 'quit nil))))
        (should (equal (backstaff-test-condition (backstaff-epc-call-async peer 'echo '(1)))
                       '(quit)))))
    (should (zerop (hash-table-count (backstaff-epc--pending peer))))))

(ert-deftest backstaff-epc-throw-while-a-cancel-is-sent-loses-no-callback ()
  (backstaff-test-with-connection peer
    (let* ((told nil)
           (call (backstaff-epc-call-async peer 'stall nil
                                           :error-fn (lambda (problem) (push (car problem) told)))))
      (cl-letf (((symbol-function 'process-send-string) (lambda (&rest _) (throw 'out nil))))
        (catch 'out (backstaff-epc-cancel peer call)))
      (should (equal told '(backstaff-cancelled))))))

(ert-deftest backstaff-epc-chatter-on-stderr-holds-up-nothing ()
  :tags '(check-39)
  (backstaff-test-with-connection peer
    (should (eq (backstaff-epc-call peer 'chatter nil :timeout 5) 'done))))


;;; A peer that talks nonsense

(ert-deftest backstaff-epc-junk-breaks-the-connection ()
  (backstaff-test-with-connection peer
    (let ((ends nil))
      (backstaff-epc-call-async peer 'stall nil
                                :error-fn (lambda (problem) (push (car problem) ends)))
      (backstaff-test-should-fail 'backstaff-protocol-error
          "expected the length of a frame, got .*Traceback (most recent"
        (backstaff-epc-call peer 'junk nil))
      (should (equal ends '(backstaff-protocol-error)))
      (should-not (backstaff-epc-live-p peer))
      (should-not (process-live-p (backstaff-epc--process peer))))))

(ert-deftest backstaff-epc-refused-message-breaks-the-connection ()
  :tags '(check-36)
  (backstaff-test-with-connection peer
    (backstaff-test-should-fail 'backstaff-protocol-error
        "unexpected text: .*#s(hash-table"
      (backstaff-epc-call
       peer 'raw '("(return %d #s(hash-table size 4000000000))")))))

(ert-deftest backstaff-epc-only-answers-are-accepted ()
  (backstaff-test-clean
    (dolist (text '("(call 1 f nil)" "(return 1)" "(return 1 2 3)" "(return \"1\" 2)"
                    "(return 1.0 2)" "(1 return 2)" "(return 1 . 2)"))
      (let ((peer (backstaff-test-connect)))
        (ert-info (text)
          (backstaff-test-should-fail 'backstaff-protocol-error
              "not the form (return UID VALUE)"
            (backstaff-epc-call peer 'raw (list text))))
        (backstaff-epc-close peer "the test is over")))))

(provide 'backstaff-epc-tests)
;;; backstaff-epc-tests.el ends here
