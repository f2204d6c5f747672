// Package rollout works rollouts that are kept in the store, so that any number of managers can work them together and
// none of them matters: whatever a manager knows is in the rows before it acts on it, and every other one can go on
// from there.
//
// # Phases of a rollout
//
//	placing ----> pushing ----> placing ----> confirming ----> ended (succeeded, partial)
//	(asks only)      |             |              |
//	   |             v             v              |            any of these: ended (canceled) when an operator
//	   +--------> unplacing <---------------------+            asks for it, and waiting when he pauses
//	                 |
//	                 v
//	              undoing ----> ended (rolled-back, refused, failed)
//
// A rollout that turns back before it has written anything is refused. It ends where it is, or passes through the phases of
// the way back with nothing to do in them.
//
// A tenant's traffic never uses a service level that ports on its way do not know: settings come first, then traffic
// moves, and what it used before is held over until a rollout of its own takes it back. On the way back traffic returns
// first; a rollout that an earlier release returned in the other order goes from undoing to unplacing. Placing asks at the
// beginning whether it could be done, so that no device is written for nothing; a rollout of the plan whose placements are
// in force has nothing to move, and places at once.
//
// Step is the only thing that moves a rollout from one phase to the next and from wave to wave. It is level-triggered:
// it reads the rows, decides (function decide, which is pure and checked exhaustively), and writes what follows, all in
// one transaction. What takes time - placing traffic, measuring for a health gate - is done between two such
// transactions, with the row's owner set.
//
// WorkShard writes the devices of one shard and reads them back. Each move of a device is committed before the act it
// announces and after the fact it states; moves of devices that are written at the same time share a transaction.
//
// # Who may act
//
// Two fences keep a worker that was given up from doing harm:
//
//   - A rollout has a revision that grows with every write. A step writes only on the revision that it read.
//   - A shard has an epoch that grows with every new asking. A worker's transactions fail under any but its own.
//
// A device cannot check a fence. So a worker also holds a lease: it gives a sign of life with every transaction and at
// least every third of the lease, and by its own clock it begins nothing, and waits for nothing, later than one lease
// after its last committed one. Whoever sees no sign of life for longer than a lease, by his own clock, takes over. No
// clocks are compared, so neither skew nor jumps of the wall clock matter. A worker whose database is gone stops before
// it touches another device, since the move that announces the touch cannot be committed.
//
// River gives the jobs to workers, tries again, and runs periodic work once. Leases are not left to it: a shard of slow
// devices has no time limit, so River declares its job lost after an hour, whereas a rollout stopped half-way should go on
// within seconds. Nothing here relies on a job coming once, in time or at all: Keep asks again for what stands still.
package rollout
