package placement

import (
	"fairlane/ccconfig/prereq"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// managerPrerequisites are the prerequisites that problems of OpenSM's files leave unmet.
var managerPrerequisites = map[osmfile.Code]prereq.ID{
	osmfile.CodeCCOn: prereq.CongestionManager, osmfile.CodeQoSOff: prereq.QoS, osmfile.CodeSLDropped: prereq.Lanes,
}

// managerDifference shows a deviation of OpenSM's files or of its effect. Fairlane sets options of OpenSM as the file of subnet managers
// says, whatever the fabric's setting of prerequisites.
func managerDifference(d opensm.Deviation) control.Difference {
	x := control.Difference{Field: d.Field, Desired: d.Want, Observed: d.Got}
	if d.Problem == nil || managerPrerequisites[d.Problem.Code] == "" {
		return x
	}
	item := prereq.Item{ID: managerPrerequisites[d.Problem.Code], Scope: prereq.ScopeManager, Field: d.Field, State: prereq.Wrong, Why: phrase.Of("verbatim", "text", d.Problem.String())}
	said := item.Sentence()
	x.Prerequisite, x.Reason, x.Said = string(item.ID), said.String(), &said
	return x
}
