package discover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// job is one request and its subject.
type job struct {
	attr     mad.AttrID
	mod      uint32
	path     []ident.PortNum
	lid      ident.LID     // not 0: the node is addressed by its LID, for congestion control
	from     *node         // NodeInfo: the switch or local node before the queried one; others: the queried node
	port     ident.PortNum // NodeInfo: the egress port of from; PortInfo: the port
	expected ident.GUID    // NodeInfo: the node at this place in the previous sweep; 0 for none

	closing closing
}

func (j *job) target() mad.Target {
	if j.lid != 0 {
		return mad.Target{LID: j.lid}
	}
	return mad.Target{Path: j.path}
}

func (j *job) class() mad.Class {
	if j.lid != 0 {
		return mad.ClassCongestion
	}
	return mad.ClassSubnDR
}

// answer is the result of a job. Errors here concern one request; fatal ends the sweep.
type answer struct {
	resp  mad.Packet
	err   error
	fatal bool
	sent  int // requests, including repetitions to a busy node
}

// sweep is the shared state. Workers access it under mu and exchange packets without the lock. An answer costs one
// hand-over: from the transport to the worker that sent the request.
type sweep struct {
	opts Options

	mu       sync.Mutex
	changed  sync.Cond // a job was queued, or the sweep ended
	nodes    map[ident.GUID]*node
	queue    []job // queue[head:] waits
	head     int
	running  int // jobs that workers are processing
	over     bool
	err      error // why it ended early
	mads     int
	warnings []Warning
	memory   *memory // nil: no previous sweep
}

func newSweep(o Options) *sweep {
	s := &sweep{opts: o, nodes: make(map[ident.GUID]*node)}
	s.changed.L = &s.mu
	return s
}

// run starts the workers and waits until no job is left.
func (s *sweep) run(ctx context.Context, t mad.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.over = false
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(context.Cause(ctx))
	})
	defer stop()
	var workers sync.WaitGroup
	for range s.opts.Parallel {
		workers.Go(func() { s.work(ctx, cancel, t) })
	}
	workers.Wait()
	return s.err
}

// work is one worker: it takes a job, exchanges its packets, and processes the answer.
func (s *sweep) work(ctx context.Context, cancel context.CancelFunc, t mad.Transport) {
	var a answer // one for each worker, because of its size
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		j, ok := s.next()
		if !ok {
			return
		}
		s.mu.Unlock()
		ask(ctx, t, j, &s.opts, &a)
		s.mu.Lock()
		s.running--
		s.mads += a.sent
		if s.over {
			return
		}
		if err := s.take(j, &a); err != nil {
			s.end(err)
			cancel() // cancels the other workers' requests
			return
		}
	}
}

// end stops the sweep. The first call determines the error; nil means that the sweep is complete.
func (s *sweep) end(err error) {
	if !s.over {
		s.over, s.err = true, err
		s.changed.Broadcast()
	}
}

func (s *sweep) push(j job) {
	s.queue = append(s.queue, j)
	s.changed.Signal()
}

// next waits for a job that is still needed. False means that the sweep is over.
func (s *sweep) next() (job, bool) {
	for !s.over {
		if j, ok := s.pop(); ok {
			s.running++
			return j, true
		}
		if s.running == 0 {
			s.end(nil)
			break
		}
		s.changed.Wait()
	}
	return job{}, false
}

func (s *sweep) pop() (job, bool) {
	for s.head < len(s.queue) {
		j := s.queue[s.head]
		s.head++
		switch {
		case j.attr == mad.AttrNodeInfo && j.lid == 0 && j.closing == closingNone && j.from != nil && j.from.ports[j.port].peer != nil:
			s.checkExpected(&j) // found from the other end meanwhile
		case j.attr == mad.AttrLinearForwardingTable && j.from.noLFT:
			// another block is lost
		default:
			return j, true
		}
	}
	s.queue, s.head = s.queue[:0], 0
	return job{}, false
}

// Backoff for a node that answers "busy": doubled each time.
const (
	busyAttempts = 5
	busyWait     = 5 * time.Millisecond
)

// ask exchanges the packets of one job, and repeats them while the node is busy.
func ask(ctx context.Context, t mad.Transport, j job, o *Options, a *answer) {
	req, to := mad.NewDirected(mad.MethodGet, j.attr, j.mod), j.target()
	if j.lid != 0 {
		req = mad.NewCC(mad.MethodGet, j.attr, j.mod, o.CCKey)
	} else {
		req.SetMKey(o.MKey)
	}
	a.sent, a.fatal = 0, false
	for n := range busyAttempts {
		a.sent++
		a.resp, a.err = t.Exchange(ctx, to, &req)
		if a.err != nil {
			a.fatal = !errors.Is(a.err, mad.ErrTimeout) || ctx.Err() != nil
			return
		}
		st := a.resp.Status()
		if st == mad.StatusOK {
			return
		}
		a.err = &mad.StatusError{Status: st, Class: j.class(), Attr: uint16(j.attr), Target: to}
		if !st.Busy() || !wait(ctx, busyWait<<n) {
			return
		}
	}
}

// wait returns false when ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// take adds an answer to the state. Its error ends the sweep.
func (s *sweep) take(j job, a *answer) error {
	switch {
	case a.fatal:
		return fmt.Errorf("%s: %s: %w", j.target(), mad.AttrName(j.class(), j.attr), a.err)
	case a.err != nil && j.from == nil:
		return fmt.Errorf("the local node: %w", a.err)
	case a.err != nil:
		s.lost(j, a.err)
	default:
		if err := s.learn(j, a.resp.Data()); err != nil {
			return err
		}
	}
	s.checkExpected(&j)
	if s.opts.Progress != nil {
		s.opts.Progress(Progress{Nodes: len(s.nodes), MADs: s.mads, Pending: len(s.queue) - s.head + s.running})
	}
	return nil
}

// learn dispatches on the attribute. Packets have the full data area, so that decoding cannot run short of bytes.
func (s *sweep) learn(j job, data []byte) error {
	if j.isTable() {
		return s.learnTable(j, data)
	}
	if j.closing != closingNone {
		return s.learnClosing(j, data)
	}
	switch j.attr {
	case mad.AttrNodeInfo:
		var v mad.NodeInfo
		if err := v.Decode(data); err != nil {
			return err
		}
		s.foundNode(j, &v)
	case mad.AttrNodeDescription:
		j.from.named = true
		return j.from.desc.Decode(data)
	case mad.AttrSwitchInfo:
		var v mad.SwitchInfo
		if err := v.Decode(data); err != nil {
			return err
		}
		s.foundSwitch(j.from, &v)
	case mad.AttrPortInfo:
		var v mad.PortInfo
		if err := v.Decode(data); err != nil {
			return err
		}
		s.foundPort(j.from, j.port, j.path, &v)
	case mad.AttrMlnxExtPortInfo:
		var v mad.MlnxExtPortInfo
		if err := v.Decode(data); err != nil {
			return err
		}
		j.from.ports[j.port].fdr10 = v.LinkSpeedActive&mad.MlnxSpeedFDR10 != 0
	case mad.AttrLinearForwardingTable:
		return s.foundBlock(j.from, j.mod, data)
	}
	return nil
}
