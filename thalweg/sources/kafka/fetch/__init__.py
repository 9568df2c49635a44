"""Records straight from the brokers: connections of our own beside the client's, for fetching alone."""
