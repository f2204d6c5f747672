// Package madlink is the common part of all transports of management datagrams: it bounds the requests in flight, matches
// answers to requests, and retries lost requests.
//
//	Exchange ─ turn at the target ─ place in flight ─ transaction ID ─► Wire.Send
//	         ◄──────── Answered, Undeliverable or Expired ──────────── Deliver, by the reader
//	                     Expired, or silence: the next try, with twice the patience
//
// A Link has no goroutine of its own: the transport reads from its wire and calls Deliver, and Fail when the wire broke.
package madlink
