"""Records straight from the partitions' leaders: whole answers to our own fetch requests, read by compiled loops."""
