// Package device brings a plan to devices and says truthfully how far it came. A device
// counts as done when it was read back equal to what the plan wants, never because a write
// was sent or acknowledged.
//
// # States of a device
//
//	                    observe: read equal / read different
//	         Unknown ------------------------------------> InSync / Drifted
//	            |                                             |        |
//	            | a rollout takes the device up               |        |
//	            v                                             |        |
//	         Pending <----------------------------------------+--------+
//	            |   \-----------------> InSync       read equal before any write
//	            |    \----------------> Failed       cannot be read, nothing written
//	            |     \---------------> Unsupported  cannot hold settings, nothing written
//	            v
//	+------> Applying ----------------> Unsupported  refused before the first write
//	|           |    \----------------> Failed       refused
//	|           v
//	+------ Verifying ----------------> InSync       read equal to what is wanted
//	| again     |    \----------------> RolledBack   read equal to what it was before
//	|           v
//	+-------- Failed                                 attempts used up
//	| back
//	+-------- InSync                                 the rollout is undone
//
// Failed, RolledBack, Unsupported, InSync, Drifted and Unknown go to Pending when the next
// rollout takes the device up. Pending, Applying and Verifying go to Unknown when a rollout
// pauses in the middle of the device: nothing is claimed about it until it is read again.
//
// # Order
//
// Channel adapters come before switches, so that nothing changes until marking begins and
// then every sender reacts with its final parameters; the other way round the adapters
// configured first would be throttled alone, in favour of those not yet configured. A plan
// that turns marking off goes the other way for the same reason. NIC ports and switches that mark
// on Ethernet follow the same rule. With WRCC switches come first: their least and largest fair rate make
// room for the weights before a sender has one, and no order loses a packet. A roll-back undoes the
// waves in the reverse of the order in which they were done.
//
// # Crashes
//
// The state a device had before its first write is recorded before that write. Work that is
// interrupted - process killed, context cancelled, recorder gone - therefore leaves enough
// behind to finish or to undo: give what was recorded in the items of the next Part.
package device
