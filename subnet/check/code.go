package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Code identifies a kind of finding; it is stable.
type Code string

// Codes of the sweep, as in package discover: unanswered requests and invalid answers.
const (
	CodeUnresponsive  Code = "unresponsive"
	CodeRefused       Code = "refused"
	CodeDuplicateGUID Code = "duplicate-guid"
	CodeDuplicateLID  Code = "duplicate-lid"
	CodeInvalid       Code = "invalid"
	CodeMismatch      Code = "mismatch"
	CodeTooFar        Code = "too-far"
)

// Codes of links.
const (
	CodeLinkNarrow    Code = "link-narrow"    // fewer lanes than both ends support and enable
	CodeLinkSlow      Code = "link-slow"      // a lower speed than both ends support and enable
	CodeLinkLimited   Code = "link-limited"   // a setting limits it below the width or speed that both ends support
	CodeLinkDiffers   Code = "link-differs"   // the ends disagree on width or speed
	CodeLinkUnlike    Code = "link-unlike"    // slower than nearly all links between the same tiers
	CodeLinkInactive  Code = "link-inactive"  // up, but no subnet manager made it active
	CodeLinkHalfUp    Code = "link-half-up"   // the ends are in different states
	CodeLinkDown      Code = "link-down"      // plugged in and down
	CodeMTUDiffers    Code = "mtu-differs"    // the ends have different MTUs
	CodeMTULow        Code = "mtu-low"        // lower than both ends support
	CodeVLsDiffer     Code = "vls-differ"     // the ends have different numbers of lanes in operation
	CodePortTraining  Code = "port-training"  // trains or recovers: a bad cable
	CodePortsDisabled Code = "ports-disabled" // switched off
)

// Codes of addresses and of the subnet manager.
const (
	CodeNoSM        Code = "no-subnet-manager"
	CodeSMGone      Code = "subnet-manager-gone" // ports name an SM whose LID no port has
	CodeSMsDiffer   Code = "subnet-managers-differ"
	CodeNoLID       Code = "no-lid"
	CodeFabricSplit Code = "fabric-split"
)

// Codes of routes.
const (
	CodeLFTMissing        Code = "lft-missing"
	CodeLFTLoop           Code = "lft-loop"
	CodeLFTDeadEnd        Code = "lft-dead-end"
	CodeUnreachable       Code = "unreachable"
	CodeSwitchUnreachable Code = "switch-unreachable"
	CodeCreditLoop        Code = "credit-loop"
)

// Codes of lanes.
const (
	CodeSLDropped      Code = "sl-dropped"
	CodeSLFolded       Code = "sl-folded"
	CodeVLNotOperating Code = "vl-not-operating"
	CodeVLNoWeight     Code = "vl-no-weight"
	CodeVLStarved      Code = "vl-starved"
)

// Codes of devices.
const (
	CodeNoCC           Code = "no-cc"
	CodeCCSilent       Code = "cc-silent"
	CodeKeyMissing     Code = "pkey-missing"
	CodeKeysLimited    Code = "pkey-limited"
	CodeManagementKey  Code = "pkey-management"
	CodeMixedRevisions Code = "mixed-revisions"
	CodeSameName       Code = "same-name"
)

// kind holds the common properties of a code's findings.
type kind struct {
	severity Severity
	remedy   string
}

// kinds has every code.
var kinds = map[Code]kind{
	CodeUnresponsive:  {Error, "Check that the device is up and its cable is good; a device protected by an M_Key answers only requests that carry the key."},
	CodeRefused:       {Warning, "The firmware does not answer requests that the standard requires; update it, or treat the missing data as unknown."},
	CodeDuplicateGUID: {Error, "Two devices report the same GUID: one was cloned or has lost its identity. Give one of them its own GUID again, or remove it."},
	CodeDuplicateLID:  {Error, "Two subnet managers may have assigned LIDs: leave one master and let it reassign the LIDs."},
	CodeInvalid:       {Error, "The device returns values that no device may have; update its firmware, or remove it."},
	CodeMismatch:      {Error, "Check whether a cable was moved during the sweep, and sweep again; if the mismatch persists, reseat or replace the cable."},
	CodeTooFar:        {Warning, "Start from a port closer to the centre of the fabric."},

	CodeLinkNarrow:    {Warning, "Reseat or replace the cable, clean the connectors, and reset the link; a lane is dead."},
	CodeLinkSlow:      {Warning, "Reseat or replace the cable, check that it is rated for the speed, and reset the link."},
	CodeLinkLimited:   {Warning, "Enable the width and speed that both ends support, unless they were limited on purpose."},
	CodeLinkDiffers:   {Error, "Reset the link; if the ends still disagree, replace the cable or update the firmware."},
	CodeLinkUnlike:    {Warning, "Check whether the cable, a transceiver or a device is of an older generation or in the wrong place; a live sweep reports what the ends support."},
	CodeLinkInactive:  {Error, "Start the subnet manager, or check its log for the reason why it skips the port."},
	CodeLinkHalfUp:    {Error, "Reset the link; if it stays in this state, check the subnet manager's log and the device's firmware."},
	CodeLinkDown:      {Error, "Check that the cable is plugged in at both ends and both ports are enabled."},
	CodeMTUDiffers:    {Error, "Let the subnet manager set both ends to one MTU: one end drops packets that the other may send."},
	CodeMTULow:        {Info, "Let the subnet manager use the larger MTU, unless it was limited on purpose."},
	CodeVLsDiffer:     {Error, "Let the subnet manager set both ends to the same number of lanes: a lane that one end lacks gets no credits."},
	CodePortTraining:  {Warning, "Reseat or replace the cable; a port that keeps training has a bad cable, or a peer that is switched off."},
	CodePortsDisabled: {Info, "Enable the ports, unless they were switched off on purpose."},

	CodeNoSM:        {Error, "Start a subnet manager; without LIDs only directed-route packets are delivered."},
	CodeSMGone:      {Error, "Start the subnet manager again, or let a standby take over."},
	CodeSMsDiffer:   {Error, "Two subnet managers both act as master: stop one, and let the other sweep."},
	CodeNoLID:       {Error, "Check the subnet manager's log for the reason why the port has no LID."},
	CodeFabricSplit: {Error, "Plug in the cables between the parts, or treat the parts as separate fabrics."},

	CodeLFTMissing:        {Error, "Let the subnet manager write the switch's table; when it could not be read, give the M_Key."},
	CodeLFTLoop:           {Error, "Let the subnet manager recompute the routes; if the loops persist, use another routing engine."},
	CodeLFTDeadEnd:        {Error, "Let the subnet manager sweep: the table is older than the cabling."},
	CodeUnreachable:       {Error, "Let the subnet manager sweep, and check its log for the reason why it omits these routes."},
	CodeSwitchUnreachable: {Warning, "Let the subnet manager route to the switches' own LIDs: congestion control and counters of these switches cannot be reached."},
	CodeCreditLoop:        {Error, "Use a routing engine that cannot deadlock on this cabling: up-down, fat-tree, or one that puts paths on different lanes."},

	CodeSLDropped:      {Error, "Map the SL to a data lane on these ports (sl2vl in the subnet manager's options)."},
	CodeSLFolded:       {Info, "No action is needed where congestion control shares the lane by weight: tenants must share one to see the same marks. Separate lanes would keep bursts apart, but divide a link by arbitration."},
	CodeVLNotOperating: {Error, "Map the SL to a lane that is in operation, or raise the number of lanes (max_vls)."},
	CodeVLNoWeight:     {Error, "Give the lane a weight in the arbitration tables: it gets no turn while another lane has something to send."},
	CodeVLStarved:      {Warning, "Set a limit (high_limit below 255): lanes of the low-priority table wait as long as high-priority ones have something to send."},

	CodeNoCC:           {Warning, "Update the firmware or enable congestion control there; the weights of flows that only these devices could mark or slow down are not enforced."},
	CodeCCSilent:       {Warning, "The device answers subnet management but not congestion control: it has a CC_Key that was not given, or firmware without the class."},
	CodeKeyMissing:     {Error, "Make the ports members of the tenant's partition (partitions.conf), and let the subnet manager sweep."},
	CodeKeysLimited:    {Error, "Make at least one side a full member: two limited members cannot communicate."},
	CodeManagementKey:  {Error, "Make the ports members of the default partition again (Default=0x7fff): management packets of queue pair 1 need it."},
	CodeMixedRevisions: {Info, "No action is needed if they behave the same; otherwise install the same revision and firmware, and give each its own device profile."},
	CodeSameName:       {Info, "Give the nodes different names: lists and files that name them are ambiguous."},
}

// Codes lists all codes, worst first.
func Codes() []Code {
	return slices.SortedFunc(maps.Keys(kinds), func(a, b Code) int {
		return cmp.Or(cmp.Compare(kinds[b].severity, kinds[a].severity), cmp.Compare(a, b))
	})
}

// Remedy returns what to do about findings of the code; empty for a code of another package.
func Remedy(c Code) string { return kinds[c].remedy }

// Reference returns the table of all codes in Markdown, worst first, as in the documentation.
func Reference() string {
	var b strings.Builder
	b.WriteString("| code | severity | what to do |\n|---|---|---|\n")
	for _, c := range Codes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c, kinds[c].severity, kinds[c].remedy)
	}
	return b.String()
}

// Known reports whether the code is one of this package.
func Known(c Code) bool { _, ok := kinds[c]; return ok }
