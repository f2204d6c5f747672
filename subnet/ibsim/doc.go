// Package ibsim is a mad.Transport over the wire protocol of the InfiniBand fabric simulator ibsim, which Fairlane's own
// live fabric implements too.
//
// A client uses two sockets of the server, both datagram sockets, either abstract Unix sockets or UDP. On the control
// socket it requests a slot, which attaches it to one port of the fabric; on the slot's data socket it then sends and
// receives management datagrams, each in a 32-byte envelope. Integers are in the byte order of a little-endian host
// unless the envelope says big-endian:
//
//	Dial ── CONNECT ──► control socket          slot number, node attached
//	     ── GET_NODEINFO, GET_PORTINFO ──►       the node and port of the slot
//	Exchange ── envelope + MAD ──► slot socket   many in flight, matched by
//	         ◄── envelope + MAD ──               low 32 bits of the transaction ID and class
//	Close ── DISCONNECT ──►                      the slot is free again
package ibsim
