// Package opensm puts a plan's service levels into force in an OpenSM on the same host, and verifies them.
//
// A Manager reads OpenSM's files and composes the desired state into Fairlane's part of them. It refuses when another
// setting would defeat the desired state. Then it writes the files, makes OpenSM reload them, and queries subnet
// administration for paths until every tenant's partition has its service level. Otherwise it restores the files, and
// proves the restored state too:
//
//	read ─► compose ─► refuse? ─► write ─► reload ─► prove ──► done
//	                                 │        │        │
//	                                 └────────┴────────┴─► restore ─► reload ─► prove
//
// OpenSM's log is not used: it is not flushed and differs between releases. Package osmfile handles the texts.
package opensm
