// Package osmfile reads and composes the three files that configure OpenSM: its options (opensm.conf), its partitions
// (partitions.conf) and its QoS policy. Fairlane's part is between two marker comments; everything else is the operator's
// and is kept byte for byte.
//
// The readers behave like OpenSM 3.3.23, which may differ from the apparent meaning of a file: only TRUE in capitals
// is true, the last of several lines counts, lines over 1,022 characters are split, and one unreadable partition line
// discards all partitions. Where that would defeat a tenant's service level, Compose reports it before anything is
// written. The package is pure: no files, no clock.
package osmfile
