;;; bench-listing.el --- Listings, compared with those of Emacs alone  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The peer is Emacs alone by contract 000: `directory-files-and-attributes', a plist
;; for each entry, sorting, and a text.

;;; Code:

(require 'bench)

(defconst bench-listing-turns 18
  "Number of turns for a small folder; big ones have fewer.")

(defun bench-listing-native (directory)
  "Return the entries of DIRECTORY like the handler of contract 000."
  (let ((entries
         (cl-loop for (name . attributes)
                  in (directory-files-and-attributes directory nil nil t)
                  unless (string-prefix-p "." name)
                  collect (list :name name
                                :type (if (eq (file-attribute-type attributes) t)
                                          :directory
                                        :file)
                                :size (file-attribute-size attributes)
                                :modified (file-attribute-modification-time
                                           attributes)))))
    (sort entries (lambda (a b)
                    (string< (plist-get a :name) (plist-get b :name))))))

(defun bench-listing-native-text (directory)
  "Return the entries of DIRECTORY with the text of contract 000."
  (let* ((entries (bench-listing-native directory))
         (files (cl-count :file entries :key (lambda (entry) (plist-get entry :type))))
         (column (cl-loop for entry in entries
                          maximize (+ 2 (length (plist-get entry :name))))))
    (cons (concat (format "Directory: %s\nTotal: %d files, %d directories\n\n"
                          directory files (- (length entries) files))
                  (mapconcat (lambda (entry) (bench-listing--row entry column))
                             entries ""))
          entries)))

(defun bench-listing--row (entry column)
  "Return the row for ENTRY, its size in COLUMN."
  (let ((name (plist-get entry :name)))
    (if (eq (plist-get entry :type) :directory)
        (concat "[DIR]  " name "/\n")
      (format "[FILE] %s%s(%.1f KB)\n" name
              (make-string (- column (length name)) ?\s)
              (/ (plist-get entry :size) 1024.0)))))

(defun bench-listing-ours (directory)
  "Return all entries of DIRECTORY by our server."
  (bench-listing--whole
   (backstaff-call "agent-q/list_directory" '(:path ".")
                   (list :root directory :max-output-bytes (ash 15 20)))))

(defun bench-listing-agent (directory)
  "Return the text about DIRECTORY that an agent gets."
  (let ((text (backstaff-call-text "agent-q/list_directory" '(:path ".")
                                   (list :root directory :max-output-bytes (ash 15 20)))))
    (if (string-prefix-p "Directory: " text) text
      (error "This is no listing: %.200S" text))))

(defun bench-listing-first (directory)
  "Return the first 200 entries in DIRECTORY."
  (plist-get (backstaff-call "forge/list_directory" '(:path "." :max_entries 200)
                             (list :root directory))
             :data))

(defun bench-listing--whole (reply)
  "Return REPLY, which must be complete."
  (if (and (plist-get reply :ok) (not (plist-get reply :truncated)))
      reply
    (error "This is no whole reply: %.200S" reply)))

(defun bench-listing-batch ()
  "Measure, write, leave."
  (bench-serve)
  (dolist (number '(0 1 2))
    (let ((directory (bench-folder (format "flat-%d" number))))
      (bench-measure
       (format "listing/%d" number) (/ bench-listing-turns (expt 3 number))
       (mapcar (lambda (way)
                 (cons (car way) (lambda () (funcall (cdr way) directory))))
               '(("ours" . bench-listing-ours)
                 ("agent" . bench-listing-agent)
                 ("native" . bench-listing-native)
                 ("native-text" . bench-listing-native-text)
                 ("first" . bench-listing-first)))
       :collect t)))
  (bench-finish))

(provide 'bench-listing)
;;; bench-listing.el ends here
