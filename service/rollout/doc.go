// Package rollout works rollouts that are stored in the database. Any number of managers can work them together, and none
// is essential: every fact that a manager acts on is in the rows first, so that any other manager can continue.
//
// # Phases of a rollout
//
//	placing ----> pushing ----> placing ----> confirming ----> ended (succeeded, partial)
//	(checks only)    |             |              |
//	   |             v             v              |            from each of these: ended (canceled) when an operator
//	   +--------> unplacing <---------------------+            requests it; a pause stops in the phase
//	                 |
//	                 v
//	              undoing ----> ended (rolled-back, refused, failed)
//
// A rollout that turns back before it has written anything is refused. It ends at once, or passes through the phases of
// the roll-back without work in them.
//
// A tenant's traffic never uses a service level that ports on its path do not know: settings are written first, then
// traffic moves, and the settings of its previous level are held over until a separate rollout removes them. In a
// roll-back traffic returns first; a rollout that an earlier release returned in the other order goes from undoing to
// unplacing. Placing starts by checking whether the placements are possible, so that no device is written in vain; a
// rollout of the plan whose placements are in force has no traffic to move, and places at once.
//
// Only Step moves a rollout from one phase to the next and from wave to wave. It is level-triggered: it reads the rows,
// decides (function decide, which is pure and checked exhaustively), and writes the consequences, all in one transaction.
// Slow work - placing traffic, measuring for a health gate - runs between two such transactions, with the row's owner
// set.
//
// WorkShard writes the devices of one shard and reads them back. Each move of a device is committed before the operation
// that it announces and after the fact that it states; moves of devices that are written concurrently share a
// transaction.
//
// # Fences and leases
//
// Two fences stop a worker that has lost its work:
//
//   - A rollout has a revision that grows with every write. A step writes only on the revision that it read.
//   - A shard has an epoch that grows with every new request. A worker's transactions fail under any other epoch.
//
// A device cannot check a fence. So a worker also holds a lease. It sends a heartbeat with every transaction and at least
// every third of the lease. By its own clock, it starts nothing, and waits for nothing, later than one lease after its
// last committed heartbeat. A manager that sees no heartbeat for longer than a lease, by its own clock, takes over. No
// clocks are compared, so neither skew nor jumps of the wall clock matter. A worker that loses its database stops before
// it touches another device, since it cannot commit the move that announces the touch.
//
// River distributes the jobs to workers, retries them, and runs periodic work once. It does not handle leases: a shard of
// slow devices has no time limit, so River declares its job lost after an hour, whereas an interrupted rollout should
// continue within seconds. Nothing here relies on a job running once, in time or at all: Keep queues a job again for
// every rollout that stands still.
package rollout
