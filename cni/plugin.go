// Package cni is Fairlane's CNI plugin: the last of a chain, such as sriov and rdma. It asks the host agent to apply the
// class of the pod's namespace to the pod's device, and returns the result of the previous plugin unchanged. It needs
// neither network nor credentials: it talks to the agent's socket alone.
//
// A pod is identified by what the container runtime passes (CNI_ARGS, and the device that the kubelet chose). Nothing that
// the author of a pod writes has any effect.
package cni

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"fairlane/agent/pods/podsock"
)

// Limits of a call of the plugin: each second may be spent under a lock of other plugins or the runtime. podsock.CallTimeout
// bounds one call of the agent.
const (
	totalTimeout = 5 * time.Second
	attempts     = 2
	pause        = 250 * time.Millisecond // before another attempt, such as while the agent restarts
)

// Versions returns the versions of the CNI specification that the plugin implements.
func Versions() version.PluginInfo { return version.PluginSupports("0.4.0", "1.0.0", "1.1.0") }

// Plugin implements the verbs of CNI.
type Plugin struct {
	Stdout io.Writer // receives the result of ADD, and nothing else
	Stderr io.Writer // receives messages
	Now    func() time.Time
}

// Funcs returns the verbs for the dispatcher of the CNI library.
func (p *Plugin) Funcs() skel.CNIFuncs {
	return skel.CNIFuncs{Add: p.Add, Check: p.Check, Del: p.Del, GC: p.GC, Status: p.Status}
}

// Add implements ADD.
func (p *Plugin) Add(args *skel.CmdArgs) error {
	c, a, err := attachment(args)
	if err != nil {
		return err
	}
	result, err := c.result()
	if err != nil {
		return err
	}
	client := podsock.NewClient(c.Socket)
	err = call(func(ctx context.Context) error { _, err := client.Attach(ctx, a); return err })
	if err != nil && c.FailPolicy == podsock.Open && keepable(err) {
		p.say("attachment %s: %v: the network is open, so the pod starts without its class; the agent applies it later", a.Key, err)
		if err := podsock.SpoolAttach(c.Spool, a, p.Now()); err != nil {
			p.say("attachment %s not kept for the agent: %v", a.Key, err)
		}
		err = nil
	}
	if err != nil {
		return failure(err)
	}
	if _, err := p.Stdout.Write(append(result, '\n')); err != nil {
		return types.NewError(types.ErrIOFailure, "fairlane: result: "+err.Error(), "")
	}
	return nil
}

// keepable reports whether an attachment that failed may be kept for later: the agent did not decide.
func keepable(err error) bool {
	problem, ok := errors.AsType[*podsock.Problem](err)
	return !ok || problem.Code == podsock.CodeInternal || problem.Code == podsock.CodeDenied
}

// attachment returns the configuration and the request of a call.
func attachment(args *skel.CmdArgs) (*Conf, *podsock.Attachment, error) {
	c, err := Parse(args.StdinData)
	if err != nil {
		return nil, nil, err
	}
	pod, err := ParseArgs(args.Args)
	if err != nil {
		return nil, nil, err
	}
	a := &podsock.Attachment{
		Key: podsock.Key{Network: c.Name, ContainerID: args.ContainerID, Interface: args.IfName}, NetNS: args.Netns, Pod: pod,
		Device: c.device(), GUID: c.RuntimeConfig.InfinibandGUID, FailPolicy: c.FailPolicy,
	}
	if err := a.Check(); err != nil {
		return nil, nil, types.NewError(types.ErrInvalidEnvironmentVariables, "fairlane: "+err.Error(), "")
	}
	return c, a, nil
}

// Check implements CHECK.
func (p *Plugin) Check(args *skel.CmdArgs) error {
	c, a, err := attachment(args)
	if err != nil {
		return err
	}
	client := podsock.NewClient(c.Socket)
	err = call(func(ctx context.Context) error { return client.Check(ctx, a) })
	if err != nil && c.FailPolicy == podsock.Open && errors.Is(err, podsock.ErrUnreachable) {
		p.say("attachment %s not checked: %v", a.Key, err)
		return nil
	}
	return failure(err)
}

// Del implements DEL. It never fails: otherwise the runtime would not call the plugins before this one, which move the
// device back and release addresses. What the agent cannot do now is kept for it.
func (p *Plugin) Del(args *skel.CmdArgs) error {
	c, err := decode(args.StdinData)
	if err != nil {
		p.say("network configuration: %v: defaults are used", err)
	}
	k := podsock.Key{Network: c.Name, ContainerID: args.ContainerID, Interface: args.IfName}
	client := podsock.NewClient(c.Socket)
	err = call(func(ctx context.Context) error { return client.Release(ctx, k) })
	if problem, ok := errors.AsType[*podsock.Problem](err); ok && problem.Code == podsock.CodeInvalid {
		p.say("attachment %s: %v", k, err) // no ADD of it can have succeeded
		return nil
	}
	if err == nil {
		return nil
	}
	p.say("attachment %s not released: %v: kept for the agent in %s", k, err, c.Spool)
	if err := podsock.SpoolRelease(c.Spool, k, p.Now()); err != nil {
		p.say("release of attachment %s not kept: %v: the agent releases it when its network namespace is gone", k, err)
	}
	return nil
}

// GC implements GC. Without a list it does nothing: no list does not mean that all attachments ended.
func (p *Plugin) GC(args *skel.CmdArgs) error {
	c, err := Parse(args.StdinData)
	if err != nil {
		return err
	}
	valid, ok := c.valid()
	if !ok {
		return nil
	}
	client := podsock.NewClient(c.Socket)
	return failure(call(func(ctx context.Context) error {
		n, err := client.Collect(ctx, &podsock.GC{Network: c.Name, Valid: valid})
		if n > 0 {
			p.say("network %s: %d attachments released", c.Name, n)
		}
		return err
	}))
}

// Status implements STATUS. Whether a manager or a cluster can be reached is not part of it: the agent serves pods without.
func (p *Plugin) Status(args *skel.CmdArgs) error {
	c, err := Parse(args.StdinData)
	if err != nil {
		return err
	}
	var s *podsock.Status
	client := podsock.NewClient(c.Socket)
	err = call(func(ctx context.Context) error { s, err = client.Status(ctx); return err })
	switch {
	case err != nil:
		return types.NewError(types.ErrPluginNotAvailable, "fairlane: "+err.Error(), "")
	case !s.Loaded:
		return types.NewError(types.ErrPluginNotAvailable, "fairlane: the host agent has not read the devices of this host yet", s.Problem)
	case s.Unreadable > 0:
		return types.NewError(types.ErrLimitedConnectivity, fmt.Sprintf("fairlane: devices of %d pods cannot be read", s.Unreadable), "")
	}
	return nil
}

// say writes a message for the log of the runtime.
func (p *Plugin) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stderr, "fairlane-cni: "+format+"\n", args...) // a failed write has no other place to be reported
}

// call calls the agent, again if it could not be reached, within totalTimeout.
func call(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), totalTimeout)
	defer cancel()
	for n := 1; ; n++ {
		err := f(ctx)
		if n == attempts || !errors.Is(err, podsock.ErrUnreachable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// failure returns the error of CNI for an error of a call; nil stays nil.
func failure(err error) error {
	if err == nil {
		return nil
	}
	code := types.ErrInternal
	problem, ok := errors.AsType[*podsock.Problem](err)
	if errors.Is(err, podsock.ErrUnreachable) || ok && problem.Code == podsock.CodeTryAgain {
		code = types.ErrTryAgainLater
	}
	return types.NewError(code, "fairlane: "+err.Error(), "")
}
