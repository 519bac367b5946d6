;;; bench-wire.el --- A tiny call, compared with other clients  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A ping by our client, and its peers: a pipe to a Python that echoes bytes, the lower limit of
;; all; jsonrpc.el, which is part of Emacs; and epc.el with python-epc, unchanged.

;;; Code:

(require 'bench)
(require 'epc)
(require 'jsonrpc)

(defconst bench-wire-turns 600
  "Number of calls for each way; epc.el has fewer, because each takes 0.3 s.")

(defconst bench-wire-stock-turns 12
  "Number of calls for epc.el.")


;;; A raw pipe

(defvar bench-wire--echoed nil
  "Non-nil when the echo has come back.")

(defun bench-wire-start-echo ()
  "Return a process that echoes its input."
  (make-process
   :name "echo" :command (bench-peer "peers/echo.py") :connection-type 'pipe
   :coding 'binary :noquery t
   :filter (lambda (_process _chunk) (setq bench-wire--echoed t))))

(defun bench-wire-echo (process)
  "Send some bytes to PROCESS and wait until they are back."
  (setq bench-wire--echoed nil)
  (process-send-string process "000010(call 1 ping ())\n")
  (while (not bench-wire--echoed)
    (accept-process-output process 1 nil t)))


;;; jsonrpc.el and epc.el

(defun bench-wire-start-jsonrpc ()
  "Return a jsonrpc.el connection with a server that answers every call."
  (make-instance
   'jsonrpc-process-connection :name "bench" :events-buffer-scrollback-size 0
   :process (make-process
             :name "jsonrpc" :command (bench-peer "peers/jsonrpc_server.py")
             :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t)))

(defun bench-wire-start-stock ()
  "Return an epc.el manager with a python-epc server."
  (epc:start-epc (car bench-python) (cdr (bench-peer "peers/epc_server.py"))))


;;; Ours

(defun bench-wire-ping ()
  "Ping our server."
  (unless (eq (backstaff-epc-call (backstaff-server-ensure) 'ping nil :timeout 5) t)
    (error "A ping was not answered with t")))

(defun bench-wire-pings (count)
  "Have COUNT pings in flight at once and wait for all."
  (let ((left count))
    (dotimes (_ count)
      (backstaff-server-call-async
       'ping nil :success-fn (lambda (_) (setq left (1- left))) :timeout 10))
    (while (> left 0)
      (accept-process-output nil 0.001))))

(defun bench-wire-batch ()
  "Measure, write, leave."
  (bench-serve)
  (let ((echo (bench-wire-start-echo))
        (jsonrpc (bench-wire-start-jsonrpc))
        (stock (bench-wire-start-stock)))
    (bench-measure
     "ping" bench-wire-turns
     `(("ours" . bench-wire-ping)
       ("pipe" . ,(lambda () (bench-wire-echo echo)))
       ("jsonrpc" . ,(lambda () (jsonrpc-request jsonrpc :ping [])))))
    (bench-measure "ping" bench-wire-stock-turns
                   `(("epc" . ,(lambda () (epc:call-sync stock 'ping nil)))))
    (bench-measure "in-flight/50" 20
                   `(("ours" . ,(lambda () (bench-wire-pings 50)))
                     ("single" . ,(lambda () (dotimes (_ 50) (bench-wire-ping)))))
                   :per 50)
    (epc:stop-epc stock)
    (jsonrpc-shutdown jsonrpc)
    (delete-process echo))
  (bench-finish))

(provide 'bench-wire)
;;; bench-wire.el ends here
