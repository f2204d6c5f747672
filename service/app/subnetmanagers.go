package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"fairlane/internal/smfile"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/reconcile"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/ufm"
	"fairlane/subnet/umad"
)

// subnetManagers are the subnet managers that tenants' partitions are placed with, by fabric.
type subnetManagers map[string]*smfile.File

// readSubnetManagers reads the files of the setting subnet_managers, "FABRIC=PATH" each.
func readSubnetManagers(list []string) (subnetManagers, error) {
	out := subnetManagers{}
	var faults []error
	for _, entry := range list {
		fabric, path, _ := strings.Cut(entry, "=")
		if out[fabric] != nil {
			faults = append(faults, fmt.Errorf("fabric %q has two files: want one", fabric))
			continue
		}
		f, err := smfile.Load(path)
		if err == nil {
			err = checkSubnetManager(f)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		out[fabric] = f
	}
	return out, errors.Join(faults...)
}

// checkSubnetManager looks at what the reader of the file does not know, and at the files of secrets.
func checkSubnetManager(f *smfile.File) error {
	if f.UFM != nil {
		_, err := ufmClient(f.UFM)
		return err
	}
	if _, err := acceptedCodes(f.OpenSM); err != nil {
		return err
	}
	return hasOptions(f.OpenSM)
}

// hasOptions is an error when OpenSM's options are not where the file says. Its partitions may not be there yet: they are
// written; options that nobody made are read by no OpenSM.
func hasOptions(o *smfile.OpenSM) error {
	if _, err := os.Stat(o.Options); err != nil {
		return fmt.Errorf("opensm.options: %w: want the file that OpenSM is given with -F; opensm -c %s writes one", err, o.Options)
	}
	return nil
}

func acceptedCodes(o *smfile.OpenSM) ([]osmfile.Code, error) {
	var codes []osmfile.Code
	for _, text := range o.Accept {
		code, err := osmfile.ParseCode(text)
		if err != nil {
			return nil, fmt.Errorf("opensm.accept: %w", err)
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// planOptions are what a plan leaves open for OpenSM.
func planOptions(o *smfile.OpenSM) opensm.PlanOptions {
	return opensm.PlanOptions{IPoIB: !o.NoIPoIB, AllMembers: o.AllMembers}
}

// openSM is the manager of an OpenSM's files, with a transport on its fabric.
func openSM(o *smfile.OpenSM, t mad.Transport) (*opensm.Manager, error) {
	cfg := opensm.Config{
		Options: o.Options, Partitions: o.Partitions, Policy: o.Policy,
		SMPorts:  func() ([]ident.GUID, error) { return umad.SMPorts(umad.Options{}) },
		Settings: osmfile.Settings{LeaveOptions: o.LeaveOptions, LeavePolicy: o.LeavePolicy, OneLane: !o.LeaveLanes, StopCC: o.StopCC},
	}
	var reload opensm.Reloader = opensm.PIDFile{Path: o.PIDFile}
	if o.Unit != "" {
		reload = opensm.Unit{Name: o.Unit}
	}
	return opensm.New(cfg, opensm.Disk{}, reload, t)
}

// ufmClient signs in nowhere yet: it reads who asks, and by which authorities UFM's certificate is checked.
func ufmClient(u *smfile.UFM) (*ufm.Client, error) {
	o := ufm.Options{URL: u.URL, User: u.User}
	var err error
	if o.Token, err = config.Secret(u.TokenFile); err != nil {
		return nil, err
	}
	if o.Password, err = config.Secret(u.PasswordFile); err != nil {
		return nil, err
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if u.CAFile != "" {
		pem, err := os.ReadFile(u.CAFile)
		if err != nil {
			return nil, err
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: found no certificate: want authorities in PEM", u.CAFile)
		}
	}
	o.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: t, Proxy: http.ProxyFromEnvironment}}
	return ufm.New(o)
}

// placements bring tenants' service levels in force on fabrics, and remember what happened to the subnet managers there. The zero value
// is ready. They are safe for concurrent use.
type placements struct {
	// simulated moves a partition's traffic to a service level, by fabric name, where the manager can do it itself: on a simulated
	// fabric in this process. Elsewhere that is the subnet manager's business.
	simulated map[string]func(ident.PKey, ident.SL) int
	watch     smWatch
}

// open is the port to the subnet manager of a target's fabric, with a transport there. f says how the manager is reached; nil is one
// that nobody here may tell, and that is asked only.
func (p *placements) open(t control.Target, f *smfile.File, c mad.Transport) (placing, error) {
	asked := &placer{transport: c, topology: t.Topology, set: p.simulated[t.Fabric.Name]}
	switch {
	case f == nil:
		return asked, nil
	case f.UFM != nil:
		client, err := ufmClient(f.UFM)
		return &ufmPlacer{asked, client, f.UFM.AcceptSLs || t.Repair}, err
	}
	codes, err := acceptedCodes(f.OpenSM)
	if err != nil {
		return nil, err
	}
	if t.Repair {
		codes = append(codes, osmfile.CodeEdited)
	}
	m, err := openSM(f.OpenSM, c)
	return osmPlacer{fabric: t.Fabric.Name, source: t.Fabric.Source, Placer: &opensm.Placer{
		Manager: m, Fabric: t.Topology, Force: codes,
		Options: planOptions(f.OpenSM),
		Done: func(r opensm.Report) {
			if r.Changed {
				p.watch.wrote(t.Fabric.Name)
			}
		},
	}}, err
}

// osmPlacer places by the files of an OpenSM, which say themselves what was there before.
type osmPlacer struct {
	*opensm.Placer
	fabric, source string // for the commands in a refusal
}

// Check implements reconcile.Placer.
func (p osmPlacer) Check(ctx context.Context, plan, _ *policy.Plan) error {
	return p.explained(p.Placer.Check(ctx, plan))
}

// Place implements reconcile.Placer.
func (p osmPlacer) Place(ctx context.Context, plan, _ *policy.Plan, clear bool) error {
	return p.explained(p.Placer.Place(ctx, plan, clear))
}

// explained adds to a refusal what would have been written, and the command that helps. The command names no file of this machine,
// since clients of the API read it.
func (p osmPlacer) explained(err error) error {
	var refused *opensm.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	err = withDifference(err)
	if !slices.ContainsFunc(refused.Problems, func(p osmfile.Problem) bool { return p.Code != osmfile.CodeEdited }) {
		return fmt.Errorf("%w; to write the plan in force over the edit: fairlane device repair %s --fabric %s --wait", err, reconcile.ManagerName, p.fabric)
	}
	return fmt.Errorf("%w; to compare, on OpenSM's host: fairlane tenant export --fabric %s > tenants.yaml && fairlane opensm diff --sm FILE --from %s --tenants tenants.yaml --prepare",
		err, p.fabric, p.source)
}

// shownLines bounds the changed lines that a refusal shows, and shownWidth each of them in characters.
const (
	shownLines = 6
	shownWidth = 120
)

// withDifference adds to a refusal what would have been written.
func withDifference(err error) error {
	var refused *opensm.RefusedError
	if !errors.As(err, &refused) || len(refused.Differences) == 0 {
		return err
	}
	var shown []string
	more := 0
	for _, d := range refused.Differences {
		path, lines := osmfile.ChangedLines(d)
		for i, line := range lines {
			line = fmt.Sprintf("%.*s", shownWidth, line)
			switch {
			case len(shown) == shownLines:
				more++
			case i == 0:
				shown = append(shown, path+": "+line)
			default:
				shown = append(shown, line)
			}
		}
	}
	if len(shown) == 0 {
		return err
	}
	text := strings.Join(shown, " | ")
	if more > 0 {
		text += fmt.Sprintf(" | and %d lines more", more)
	}
	return fmt.Errorf("%w; it would have written %s", err, text)
}

// ufmPlacer places by UFM, and asks its subnet manager whether it hands out what was placed.
type ufmPlacer struct {
	*placer
	client *ufm.Client
	force  bool // service levels that somebody else set are set, too
}

// Check implements reconcile.Placer.
func (p *ufmPlacer) Check(ctx context.Context, plan, before *policy.Plan) error {
	o, err := p.placement(plan, before)
	if err != nil {
		return err
	}
	have, err := p.client.Partitions(ctx)
	if err != nil {
		return err
	}
	_, err = ufm.Plan(have, o)
	return err
}

// Place implements reconcile.Placer. UFM knows no second step: what the plan before had and this one has not, goes last.
func (p *ufmPlacer) Place(ctx context.Context, plan, before *policy.Plan, _ bool) error {
	o, err := p.placement(plan, before)
	if err != nil {
		return err
	}
	_, err = p.client.Place(ctx, o)
	return err
}

// placement is what UFM is to have by a plan, when what another had is there until then.
func (p *ufmPlacer) placement(plan, before *policy.Plan) (o ufm.Placement, err error) {
	o.Force = p.force
	if o.Want, err = p.partitions(plan); err == nil && before != nil {
		there := *before // ports that left the fabric cannot be named any more, and bother nobody
		there.Placements = slices.DeleteFunc(slices.Clone(before.Placements), func(e policy.Placement) bool {
			_, ok := p.topology.PortByID(e.Port)
			return !ok
		})
		if o.Before, err = p.partitions(&there); err != nil {
			err = fmt.Errorf("plan before: %w", err)
		}
	}
	return o, err
}

// Verify implements reconcile.Placer.
func (p *ufmPlacer) Verify(ctx context.Context, plan *policy.Plan) error {
	if err := p.placer.Verify(ctx, plan); err != nil {
		return fmt.Errorf("%w; UFM has the partitions as wanted: a changed service level may need a restart of its subnet manager", err)
	}
	return nil
}

// partitions are those of a plan, with the ports of their tenants as members.
func (p *ufmPlacer) partitions(plan *policy.Plan) ([]ufm.Partition, error) {
	each, err := onePerPartition(plan.Placements, "UFM")
	if err != nil {
		return nil, err
	}
	var out []ufm.Partition
	at := map[ident.PKey]int{}
	for _, e := range each {
		if e.PKey.Base() == 0 || e.PKey.Base() == ident.DefaultPKey.Base() {
			return nil, fmt.Errorf("tenant %s is in the default partition, which UFM keeps for itself: give it a partition of its own (pkey)", e.Tenant)
		}
		at[e.PKey.Base()] = len(out)
		out = append(out, ufm.Partition{PKey: e.PKey.Base(), SL: e.SL, IPoIB: true})
	}
	seen := map[policy.Placement]bool{}
	for _, e := range plan.Placements {
		one := policy.Placement{PKey: e.PKey.Base(), Port: e.Port}
		ref, ok := p.topology.PortByID(e.Port)
		if !ok {
			return nil, fmt.Errorf("placement of tenant %s: port %s is not on the fabric", e.Tenant, e.Port)
		}
		if seen[one] {
			continue
		}
		seen[one] = true
		to := &out[at[one.PKey]]
		to.Members = append(to.Members, ufm.Member{Port: p.topology.Port(ref).GUID, Full: true})
	}
	return out, nil
}
