// Package umad is a mad.Transport over the umad device file of Linux, by which a channel
// adapter sends and receives management datagrams for programs. It is pure Go: a file, four
// ioctls and a 64-byte header (Linux, include/uapi/rdma/ib_user_mad.h).
//
//	Open ── /sys/class/infiniband_mad ──► which umadN, which port, its partition and SM
//	     ── open, REGISTER_AGENT2 ──────► an agent for each class; requests only
//	Exchange ── header + MAD ──► write    the kernel sends it and waits for the answer
//	         ◄── header + MAD ── read     the answer, or status 110 when none came in time
//	Close ── close ──► the kernel forgets the agents and what is under way
//
// The file needs reading and writing, no capability and no other privilege. The issm file
// beside it, which makes its port a subnet manager, is never opened.
package umad
