// Package opensm brings a plan's service levels into an OpenSM beside which Fairlane runs, and proves that they hold.
//
// A Manager reads OpenSM's files, composes the wish into Fairlane's part of them, refuses what would defeat it, writes
// them, makes OpenSM read them, and asks subnet administration for paths until every tenant's partition gets its
// service level. When it does not, the files go back to what they were, and that is proven too:
//
//	read ─► compose ─► refuse? ─► write ─► reload ─► prove ──► done
//	                                 │        │        │
//	                                 └────────┴────────┴─► restore ─► reload ─► prove
//
// What OpenSM's log says plays no part: it is not flushed and differs from release to release. The texts themselves are the
// business of osmfile.
package opensm
