package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibmad"
	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/service/site"
	"fairlane/subnet/discover"
	"fairlane/subnet/mad"
)

// ccKeyFlags are the flags of the commands that manage CC_Keys.
type ccKeyFlags struct {
	from            string
	mKey            string   // file
	keyFiles        []string // of show
	newFile         string
	oldFiles        []string
	generate        bool
	protect         bool
	keep            bool // no flag about protection was given
	lease           uint16
	forever         bool
	takeOver        bool
	clearViolations bool
	failures        int
	parallel        int
	dryRun, asJSON  bool
}

// ccKeyCommand is `device cc-key`, which accesses a fabric without the service.
func (a *app) ccKeyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cc-key", Short: a.T("cckey.short"), Long: a.T("cckey.long"), Args: cobra.NoArgs}
	cmd.AddCommand(a.ccKeyShow(), a.ccKeySet(), a.ccKeyRotate(), a.ccKeyClear())
	cmdline.HideGlobal(cmd)
	for _, verb := range cmd.Commands() {
		a.LocalOnly(verb)
	}
	return cmd
}

func (a *app) ccKeyVerb(use, key, example string, f *ccKeyFlags, run func(context.Context, *ccKeyFlags) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: a.T(key + ".short"), Long: a.T(key + ".long"), Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			protect := cmd.Flags().Lookup("protect")
			f.keep = protect != nil && !protect.Changed
			return run(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.from, "from", "", a.T("cckey.flag.from"))
	a.MKeyFlag(cmd, &f.mKey)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, a.T("flag.json"))
	cmd.Flags().IntVar(&f.parallel, "parallel", 0, a.T("cckey.flag.parallel"))
	cmdline.Must(cmd.MarkFlagRequired("from"))
	return cmd
}

func (a *app) ccKeyShow() *cobra.Command {
	f := &ccKeyFlags{}
	cmd := a.ccKeyVerb("show --from SOURCE", "cckey.show", `  fairlane device cc-key show --from ibsim:unix:lab
  fairlane device cc-key show --from ibsim:unix:lab --key-file /etc/fairlane/cc.key --json`, f, a.showKeys)
	cmd.Flags().StringArrayVar(&f.keyFiles, "key-file", nil, a.T("cckey.flag.key-files"))
	return cmd
}

func (a *app) ccKeySet() *cobra.Command {
	f := &ccKeyFlags{}
	cmd := a.ccKeyVerb("set --from SOURCE --key-file FILE", "cckey.set", `  fairlane device cc-key set --from ibsim:unix:lab --key-file cc.key --generate --protect --lease 600
  fairlane device cc-key set --from ibsim:unix:lab --key-file cc.key --dry-run`, f, a.changeKeys)
	a.newKeyFlags(cmd, f)
	a.changeFlags(cmd, f)
	return cmd
}

func (a *app) ccKeyRotate() *cobra.Command {
	f := &ccKeyFlags{}
	cmd := a.ccKeyVerb("rotate --from SOURCE --old-key-file FILE --key-file FILE", "cckey.rotate",
		`  fairlane device cc-key rotate --from ibsim:unix:lab --old-key-file cc.key --key-file cc2.key --generate --protect --lease 600
  fairlane device cc-key rotate --from ibsim:unix:lab --old-key-file cc.key --key-file cc2.key --protect --lease 600 # goes on after an interruption`, f, a.changeKeys)
	a.newKeyFlags(cmd, f)
	a.oldKeyFlags(cmd, f)
	a.changeFlags(cmd, f)
	remote.Destroys(cmd, a.Texts, "ask.cckey-rotate")
	return cmd
}

func (a *app) ccKeyClear() *cobra.Command {
	f := &ccKeyFlags{}
	cmd := a.ccKeyVerb("clear --from SOURCE --old-key-file FILE", "cckey.clear",
		`  fairlane device cc-key clear --from ibsim:unix:lab --old-key-file cc.key`, f, a.changeKeys)
	a.oldKeyFlags(cmd, f)
	a.changeFlags(cmd, f)
	remote.Destroys(cmd, a.Texts, "ask.cckey-clear")
	return cmd
}

func (a *app) newKeyFlags(cmd *cobra.Command, f *ccKeyFlags) {
	cmd.Flags().StringVar(&f.newFile, "key-file", "", a.T("cckey.flag.key-file"))
	cmd.Flags().BoolVar(&f.generate, "generate", false, a.T("cckey.flag.generate"))
	cmd.Flags().BoolVar(&f.protect, "protect", false, a.T("cckey.flag.protect"))
	cmd.Flags().Uint16Var(&f.lease, "lease", 0, a.T("cckey.flag.lease"))
	cmd.Flags().BoolVar(&f.forever, "forever", false, a.T("cckey.flag.forever"))
	cmdline.Must(cmd.MarkFlagRequired("key-file"))
}

func (a *app) oldKeyFlags(cmd *cobra.Command, f *ccKeyFlags) {
	cmd.Flags().StringArrayVar(&f.oldFiles, "old-key-file", nil, a.T("cckey.flag.old-key-file"))
	cmdline.Must(cmd.MarkFlagRequired("old-key-file"))
}

func (a *app) changeFlags(cmd *cobra.Command, f *ccKeyFlags) {
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, a.T("cckey.flag.take-over"))
	cmd.Flags().BoolVar(&f.clearViolations, "clear-violations", false, a.T("cckey.flag.clear-violations"))
	cmd.Flags().IntVar(&f.failures, "failures", 0, a.T("cckey.flag.failures"))
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, a.T("cckey.flag.dry-run"))
}

// keyFleet is the devices of a fabric, and the driver that manages their keys.
type keyFleet struct {
	devices []driver.Device
	driver  *ibmad.Driver
	unmet   int // number of sweep warnings: devices that it could not read or distinguish are missing in devices
}

// keyFleet sweeps the fabric of a transport and returns its devices, with a driver over the same transport.
func (a *app) keyFleet(ctx context.Context, from string, t mad.Transport) (*keyFleet, error) {
	r, err := a.sweep(ctx, from, t, discover.Options{})
	if err != nil {
		return nil, err
	}
	for _, w := range r.Warnings {
		a.Warn(a.Texts.Say(w.Sentence()))
	}
	f := &keyFleet{devices: site.CCDevices(r.Fabric), unmet: len(r.Warnings)}
	if len(f.devices) == 0 {
		return nil, &phrase.Error{Text: phrase.Of("cckey.no-lid", "fabric", from)}
	}
	f.driver, err = ibmad.New(t, ibmad.Options{InFlight: 256})
	return f, err
}

func (a *app) showKeys(ctx context.Context, f *ccKeyFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	files, err := readKeyFiles(f.keyFiles)
	if err != nil {
		return err
	}
	t, err := site.Dial(ctx, f.from, f.mKey)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }() // the slot is released in any case
	fleet, err := a.keyFleet(ctx, f.from, t)
	if err != nil {
		return err
	}
	line := progress.On(a.Stderr)
	states, err := fleet.driver.ReadKeys(ctx, fleet.devices, ibmad.KeyRead{
		Keys: keysOf(files), Parallel: f.parallel,
		Progress: func(n int) { line.Show(a.T("cckey.progress.read", "done", n, "of", len(fleet.devices))) },
	})
	line.Clear()
	if err != nil {
		return wrongUsage(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	report := ccKeyReport{}
	for i := range states {
		report.add(&states[i], "", nil, files)
	}
	if err := a.printKeys(&report, f.asJSON, true); err != nil {
		return err
	}
	if n := report.silent(); n > 0 {
		return errors.New(a.T("cckey.unread", "n", n))
	}
	return nil
}

// wrongUsage converts an error that reports an invalid request, for which nothing was sent, to a usage error.
func wrongUsage(err error) error {
	if errors.Is(err, driver.ErrInvalid) {
		return usage.Wrap(err)
	}
	return err
}

// check rejects contradictory flags before any file is read.
func (f *ccKeyFlags) check() error {
	switch {
	case f.protect && f.lease == 0 && !f.forever:
		return usage.Of(phrase.Of("usage.protect-lease"))
	case f.forever && f.lease != 0:
		return usage.Of(phrase.Of("usage.forever-lease", "lease", f.lease))
	case f.forever && !f.protect:
		return usage.Of(phrase.Of("usage.flag-want-with", "flag", "--forever", "other", "--protect"))
	case f.lease != 0 && !f.protect:
		return usage.Of(phrase.Of("usage.flag-want-with", "flag", fmt.Sprintf("--lease %d", f.lease), "other", "--protect"))
	case f.failures < 0:
		return usage.Of(phrase.Of("usage.flag-natural", "flag", "failures", "value", f.failures))
	case f.parallel < 0 || f.parallel > 4096:
		return usage.Of(phrase.Of("usage.parallel", "value", f.parallel, "max", 4096))
	}
	return nil
}

// keyChange reads the files and builds the change.
func (f *ccKeyFlags) keyChange() (c ibmad.KeyChange, files []keyFile, err error) {
	c = ibmad.KeyChange{
		Protect: f.protect, LeaseSeconds: f.lease, Forever: f.forever, Keep: f.keep, TakeOver: f.takeOver,
		ClearViolations: f.clearViolations, Failures: f.failures, Parallel: f.parallel, DryRun: f.dryRun,
	}
	old, err := readKeyFiles(f.oldFiles)
	if err != nil {
		return c, nil, err
	}
	c.From = keysOf(old)
	if f.newFile == "" {
		return c, old, nil
	}
	var to keyFile
	if f.generate {
		to, err = newKey(f.newFile)
	} else {
		var read []keyFile
		if read, err = readKeyFiles([]string{f.newFile}); err == nil {
			to = read[0]
		}
	}
	if err != nil {
		return c, nil, err
	}
	if i := slices.Index(c.From, to.key); i >= 0 {
		return c, nil, usage.Of(phrase.Of("cckey.same", "file", to.path, "other", old[i].path))
	}
	c.To = to.key
	c.Stored = func(ctx context.Context) error {
		if f.generate {
			if err := to.create(); err != nil {
				return err
			}
		}
		return to.keep(ctx)
	}
	return c, append(old, to), nil
}

func (a *app) changeKeys(ctx context.Context, f *ccKeyFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	c, files, err := f.keyChange()
	if err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return usage.Wrap(err)
	}
	t, err := site.Dial(ctx, f.from, f.mKey)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }() // the slot is released in any case
	fleet, err := a.keyFleet(ctx, f.from, t)
	if err != nil {
		return err
	}
	line := progress.On(a.Stderr)
	c.Progress = func(p ibmad.KeyProgress) {
		text := "cckey.progress.read"
		if p.Writing {
			text = "cckey.progress.write"
		}
		line.Show(a.T(text, "done", p.Done, "of", p.Of))
	}
	run, err := fleet.driver.ChangeKeys(ctx, fleet.devices, c)
	line.Clear()
	if err != nil {
		return wrongUsage(err)
	}
	report := ccKeyReport{DryRun: f.dryRun}
	for i := range run.Results {
		r := &run.Results[i]
		report.add(&r.Before, r.Outcome, r.Err, files)
		if d := &report.Devices[i]; r.Err != nil {
			d.Error = a.ErrorText(ctx, r.Err)
		}
	}
	if run.Stopped != nil {
		report.Stopped = a.ErrorText(ctx, run.Stopped)
	}
	if err := a.printKeys(&report, f.asJSON, false); err != nil {
		return err
	}
	if f.keep {
		with, without := report.kept()
		_, _ = fmt.Fprintln(a.Stderr, a.T("cckey.kept", "with", with, "without", without)) // a broken terminal does not affect the result
	}
	if run.Stopped != nil {
		return fmt.Errorf("%s: %w", a.T("cckey.stopped"), run.Stopped)
	}
	if n := report.Failed; n > 0 {
		return errors.New(a.T("cckey.failed", "n", n))
	}
	if fleet.unmet > 0 {
		return errors.New(a.T("cckey.unmet", "n", fleet.unmet))
	}
	return nil
}
