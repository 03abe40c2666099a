"""Datasets of the study: cards, downloads, manifests and one loader; also synthetic hospitals and your own images.

A *card* (:mod:`.cards`) says what a dataset is and what its counts must be. *Fetching* downloads open files; a file gets
its name only when it is complete and verified. *Indexing* turns any on-disk layout into one *manifest*, and refuses when the
counts differ from the card. The *loader* reads manifests and nothing else.
"""
