// Package umad is a mad.Transport over the umad device file of Linux, through which programs send and receive management
// datagrams on a channel adapter. It is pure Go: a file, four ioctls and a 64-byte header (Linux,
// include/uapi/rdma/ib_user_mad.h).
//
//	Open ── /sys/class/infiniband_mad ──► which umadN, which port, its partition and SM
//	     ── open, REGISTER_AGENT2 ──────► an agent for each class; requests only
//	Exchange ── header + MAD ──► write    the kernel sends it and waits for the answer
//	         ◄── header + MAD ── read     the answer, or status 110 without one in time
//	Close ── close ──► the kernel drops the agents and the pending requests
//
// The file needs read and write access, no capability and no other privilege. The corresponding issm file, which makes its
// port a subnet manager, is never opened.
package umad
