// Package osmfile reads and composes the three files that steer OpenSM: its options (opensm.conf), its partitions
// (partitions.conf) and its QoS policy. What is Fairlane's stands between two marker comments; everything else is
// the operator's and is kept byte for byte.
//
// The readers follow what OpenSM 3.3.23 does with a file, which is not always what the file seems to say: only TRUE
// in capitals is true, the last of several lines counts, lines over 1,022 characters are cut in two, and
// for one partition line that cannot be read all partitions are given up. Where that would defeat a tenant's service level,
// Compose says so before anything is written. The package is pure: no files, no clock.
package osmfile
