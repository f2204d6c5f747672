package fill

// KeepAll has a solver keep the histories of parts of any size, and follow them to their end.
func (s *Solver) KeepAll() { s.eager = true }
