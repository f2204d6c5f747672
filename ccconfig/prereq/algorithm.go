package prereq

import (
	"slices"

	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/internal/phrase"
)

// OtherAlgorithm returns the prerequisites of a NIC port whose congestion-control algorithm is not DCQCN: that it is not, which
// Fairlane cannot repair, and the items of the classes of traffic. Items of DCQCN's parameters are dropped, since the parameters
// have no meaning there.
func OtherAlgorithm(s ccalgo.State, items []Item) []Item {
	out := []Item{{
		ID: Algorithm, Scope: ScopePort, Field: "algorithm", State: Wrong, Want: string(ccalgo.DCQCN), Found: string(s.Name), Advice: s.Name.Fix(),
		Why: phrase.Of("ccalgo.other", "driver", s.Driver, "net-dev", s.NetDev, "model", s.Model, "algorithm", s.Name.Title(), "evidence", phrase.Quoted(s.Evidence)),
	}}
	ofDCQCN := []ID{Reaction, Notification, PriorityMask, Algorithm, CNPDSCP}
	return append(out, slices.DeleteFunc(items, func(i Item) bool { return slices.Contains(ofDCQCN, i.ID) })...)
}
