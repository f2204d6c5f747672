package policy_test

import (
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// plug returns a switch port with a link.
func plug(in *policy.Input) subnet.PortRef { return in.Fabric.Links[0].A }

func allSLs() []ident.SL {
	var out []ident.SL
	for i := range ident.NumSLs {
		out = append(out, ident.SL(i))
	}
	return out
}
