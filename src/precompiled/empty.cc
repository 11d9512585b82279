// A library must have a source; these are for their headers alone.
