package telemetry

import (
	"cmp"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// LoopState says whether congestion control acts.
type LoopState string

// States of a congestion-control loop. Without load the state is not-tested, never acting.
const (
	LoopActing    LoopState = "acting"
	LoopDead      LoopState = "not-acting"
	LoopNotTested LoopState = "not-tested"
)

// LoopStage is the first inactive stage of a loop.
type LoopStage string

// Stages of a loop, in their order.
const (
	StageMarks         LoopStage = "marks"         // queues are full, but no packet is marked
	StageNotifications LoopStage = "notifications" // marked packets arrive, but no notification is sent
	StageReaction      LoopStage = "reaction"      // notifications are sent, but the sender handles none
	StageRates         LoopStage = "rates"         // notifications are handled, but no rate changes
)

// Loop is the state of congestion control, judged from the counters of a window.
type Loop struct {
	State LoopState
	Stage LoopStage // of LoopDead
	Where []string  // ports at which that stage is inactive, by name, at most maxLoopPorts
	// Text has the figures and, for LoopDead and LoopNotTested, the reason. It does not repeat the state.
	Text phrase.Text
	// Marks, Sent, Handled and Ignored are marked packets received, and notifications sent, handled and ignored.
	Marks, Sent, Handled, Ignored uint64
}

// maxLoopPorts bounds the ports that a Loop names.
const maxLoopPorts = 8

// Count is the increase of a counter in a window.
type Count struct {
	N   uint64
	Err error // why it is unknown
}

// LoopPort is what a NIC port counted in a window.
type LoopPort struct {
	Name string
	// Marks are marked packets received, Sent the notifications for them; Handled and Ignored are those received.
	Marks, Sent, Handled, Ignored Count
	// Pauses are the pause frames received in the priorities of RoCE; Paused is the part of the window in which they held one, summed over the
	// priorities.
	Pauses Count
	Paused float64
	// Full says that the port received at least fullLink of its line rate.
	Full bool
}

// fullLink is the fraction of a link's rate from which it counts as full: a link under congestion control carries more,
// an idle one far less.
const fullLink = 0.9

// heldShare is the fraction of a window from which pause, and not congestion control, limits a sender. Where congestion
// control acts, rates fit the link and pause lasts for a small fraction of the window.
const heldShare = 0.1

// LoopPair is a sender and a receiver with traffic between them.
type LoopPair struct{ Src, Dst ident.PortID }

// JudgeLoop judges whether congestion control acts, from what ports counted under load. Earlier stages are judged first,
// since an inactive stage makes the later ones inactive.
func JudgeLoop(ports map[ident.PortID]LoopPort, pairs []LoopPair) Loop {
	j := loopJudge{ports: ports, senders: map[ident.PortID][]ident.PortID{}, receivers: map[ident.PortID][]ident.PortID{}}
	for _, p := range pairs {
		j.senders[p.Dst] = append(j.senders[p.Dst], p.Src)
		j.receivers[p.Src] = append(j.receivers[p.Src], p.Dst)
	}
	for _, id := range sortedPorts(ports) {
		p := ports[id]
		j.out.Marks += p.Marks.N
		j.out.Sent += p.Sent.N
		j.out.Handled += p.Handled.N
		j.out.Ignored += p.Ignored.N
	}
	for _, stage := range []struct {
		name LoopStage
		dead func(id ident.PortID, p *LoopPort) bool
		why  phrase.Text
	}{
		{StageNotifications, j.unanswered, phrase.Of("loop.marks-without-cnp")},
		{StageReaction, j.unhandled, phrase.Of("loop.cnp-unhandled")},
		{StageRates, j.unmoved, phrase.Of("loop.paused")},
		{StageMarks, j.unmarked, phrase.Of("loop.full-unmarked")},
	} {
		if where := j.dead(stage.dead); len(where) > 0 {
			j.out.State, j.out.Stage, j.out.Where = LoopDead, stage.name, where
			j.out.Text = phrase.Of("loop.finding", "what", stage.why, "where", where, "figures", j.figures())
			return j.out
		}
	}
	return j.alive()
}

// loopJudge holds the input of one judgement.
type loopJudge struct {
	ports              map[ident.PortID]LoopPort
	senders, receivers map[ident.PortID][]ident.PortID
	out                Loop
}

func sortedPorts(ports map[ident.PortID]LoopPort) []ident.PortID {
	ids := make([]ident.PortID, 0, len(ports))
	for id := range ports {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, ident.PortID.Compare)
	return ids
}

// dead returns the names of the ports where at reports an inactive stage.
func (j *loopJudge) dead(at func(id ident.PortID, p *LoopPort) bool) (where []string) {
	for _, id := range sortedPorts(j.ports) {
		p := j.ports[id]
		if at(id, &p) && len(where) < maxLoopPorts {
			where = append(where, p.Name)
		}
	}
	return where
}

// figures lists the counts of all ports.
func (j *loopJudge) figures() phrase.Text {
	return phrase.Of("loop.cnp-figures", "marks", j.out.Marks, "sent", j.out.Sent, "handled", j.out.Handled, "ignored", j.out.Ignored)
}

// unanswered reports whether a receiver of marks sends no notification.
func (j *loopJudge) unanswered(_ ident.PortID, p *LoopPort) bool {
	return p.Marks.Err == nil && p.Sent.Err == nil && p.Marks.N > 0 && p.Sent.N == 0
}

// unhandled reports whether a sender handles none of the notifications that its receivers sent: it ignores them, or no
// sender to those receivers handles any.
func (j *loopJudge) unhandled(id ident.PortID, p *LoopPort) bool {
	if p.Handled.Err != nil || p.Handled.N > 0 {
		return false
	}
	if p.Ignored.Err == nil && p.Ignored.N > 0 {
		return true
	}
	for _, r := range j.receivers[id] {
		to, known := j.ports[r]
		if known && to.Sent.N > 0 && !slices.ContainsFunc(j.senders[r], func(s ident.PortID) bool {
			other, read := j.ports[s]
			return !read || other.Handled.Err != nil || other.Handled.N > 0
		}) {
			return true
		}
	}
	return false
}

// unmoved reports whether a sender handles notifications and is still limited by pause.
func (j *loopJudge) unmoved(_ ident.PortID, p *LoopPort) bool {
	return p.Handled.Err == nil && p.Handled.N > 0 && p.Pauses.Err == nil && p.Pauses.N > 0 && p.Paused >= heldShare
}

// unmarked reports whether a full receiver of several senders, one of which is paused, receives no mark.
func (j *loopJudge) unmarked(id ident.PortID, p *LoopPort) bool {
	if !p.Full || p.Marks.Err != nil || p.Marks.N > 0 {
		return false
	}
	return slices.ContainsFunc(j.senders[id], func(s ident.PortID) bool {
		from, known := j.ports[s]
		return known && from.Pauses.Err == nil && from.Pauses.N > 0
	})
}

// alive judges a loop without a known inactive stage.
func (j *loopJudge) alive() Loop {
	if j.out.Marks > 0 && j.out.Sent > 0 && j.out.Handled > 0 {
		j.out.State, j.out.Text = LoopActing, j.figures()
		return j.out
	}
	why := phrase.Of("loop.no-full-queue")
	for _, id := range sortedPorts(j.ports) {
		p := j.ports[id]
		if err := cmp.Or(p.Marks.Err, p.Sent.Err, p.Handled.Err); err != nil {
			why = phrase.Of("loop.counters-unread", "port", p.Name, "reason", phrase.OfError(err))
			break
		}
	}
	j.out.State, j.out.Text = LoopNotTested, phrase.Of("labelled", "label", why, "text", j.figures())
	return j.out
}
