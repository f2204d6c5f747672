// Package workload generates the traffic of a simulation: source host, destination host, size and start of each flow. It is
// pure: the same options and the same seed give the same flows on every machine.
//
// Open-loop traffic is a Source: it returns flows one by one in the order of time and generates each on demand. Its memory
// depends on the number of hosts, not of flows. Poisson, Incast, Batch, Permutation, AllToAll, List and Trace are sources, and
// Merge combines several.
//
// Traffic whose flows wait for other flows is Reactive: it receives delivery reports and returns the flows that may start.
// Collective implements it: a ring, tree or all-to-all exchange among ranks.
//
// Hosts are numbered from 0 in the simulator's order (for a fabric of package subnet, the order of Fabric.Hosts). Sizes are
// payload bytes; the simulator adds headers.
package workload
