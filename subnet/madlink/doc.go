// Package madlink is what every transport of management datagrams has in common, whatever
// carries them: how many requests are under way, which answer belongs to which request, and
// how often a request that nobody answers is sent again.
//
//	Exchange ─ turn at the target ─ place in flight ─ transaction ID ─► Wire.Send
//	         ◄──────── Answered, Undeliverable or Expired ──────────── Deliver, by the reader
//	                     Expired, or silence: the next try, with twice the patience
//
// A Link has no goroutine of its own: the transport reads from its wire and calls Deliver,
// and Fail when the wire broke.
package madlink
