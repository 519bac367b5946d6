"""EPC: frames, the Lisp on them, connections and transports. The only home of epc and sexpdata."""
