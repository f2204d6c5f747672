package embedded

// AwaitPast waits until other managers answered about the fabrics that were taken over, or until their time to answer is over.
func (r *Rules) AwaitPast() { r.db.reads.Wait() }
