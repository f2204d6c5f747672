// Package app wires fairlane-cni: the plugin when a container runtime starts it, otherwise its command line.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/spf13/cobra"

	"fairlane/cni"
	"fairlane/cni/doctor"
	"fairlane/internal/buildinfo"
	"fairlane/internal/cobraerror"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// Process runs the plugin or a command with the arguments, the environment and the streams of this process, and returns the
// exit code. Runtimes pass no arguments.
func Process() int {
	if len(os.Args) < 2 {
		return plugin()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Main(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
}

// plugin runs the plugin.
func plugin() int {
	// The library refuses a DEL, after the plugin's own work, when the pod has the network namespace of the plugin, and an ADD
	// after its result was printed. The plugin enters no network namespace, so that does not matter here.
	if err := os.Setenv("CNI_NETNS_OVERRIDE", "TRUE"); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
	p := &cni.Plugin{Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now}
	err := skel.PluginMainFuncsWithError(p.Funcs(), cni.Versions(), "fairlane-cni "+buildinfo.Version()+", a CNI plugin; run `fairlane-cni doctor` to check a host")
	if err == nil {
		return exitDone
	}
	if err := err.Print(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
	return exitFailed
}

// app is the common state of the commands.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	text           *i18n.Catalogue
	began          bool // the command's own code started: earlier failures are wrong usage
}

// errProblems means that the examination found problems, which were printed.
var errProblems = errors.New("problems")

// Main runs the command line and returns its exit code: 0 done, 1 problems found or failed, 2 wrong usage.
func Main(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	text, err := i18n.Load(i18n.Pick(i18n.Asked(args), getenv))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return exitFailed
	}
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, text: text}
	root := a.root(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err = root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errProblems):
		return exitFailed
	}
	_, _ = fmt.Fprintln(stderr, text.T("error", "error", text.Error(err)))
	if wrong := new(usage.Error); !a.began || errors.As(err, &wrong) {
		return exitUsage
	}
	return exitFailed
}

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use: "fairlane-cni", Short: a.text.T("cni.short"), Long: a.text.T("cni.long"), Version: buildinfo.Version(), Args: cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if lang := i18n.Asked(args); lang != "" && !slices.Contains(i18n.Languages(), lang) {
			return usage.Of(phrase.Of("usage.language", "found", strconv.Quote(lang), "want", phrase.Of("list.or", "list", i18n.Languages()[:1], "last", i18n.Languages()[1])))
		}
		return nil
	}
	root.PersistentFlags().String("lang", "", a.text.T("flag.lang"))
	root.CompletionOptions.DisableDefaultCmd = true
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(a.doctorCommand(), a.versionCommand())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage.Wrap(cobraerror.Flag(cmd, err)) })
	for _, c := range append(root.Commands(), root) {
		check, run := c.Args, c.RunE
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
				return nil
			case cmd.HasSubCommands():
				return usage.Wrap(cobraerror.Command(cmd, args[0]))
			}
			return usage.Wrap(cobraerror.Args(cmd, args, err))
		}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.began = true
			return run(cmd, args)
		}
	}
	return root
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: a.text.T("agent.version.short"), Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(a.stdout, "fairlane-cni", buildinfo.Version())
		return err
	}}
}

func (a *app) doctorCommand() *cobra.Command {
	o := doctor.Options{Root: "/", Version: buildinfo.Version()}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor [FILE...]", Short: a.text.T("cni.doctor.short"), Long: a.text.T("cni.doctor.long"), Args: cobra.ArbitraryArgs,
		Example: "  fairlane-cni doctor\n  kubectl get net-attach-def rdma -o jsonpath='{.spec.config}' | fairlane-cni doctor -",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Now = time.Now()
			for _, name := range args {
				f, err := a.read(name)
				if err != nil {
					return usage.Wrap(err)
				}
				o.Files = append(o.Files, f)
			}
			return a.print(doctor.Examine(cmd.Context(), o), asJSON)
		},
	}
	cmd.Flags().StringVar(&o.ConfDir, "conf-dir", "/etc/cni/net.d", a.text.T("cni.flag.conf-dir"))
	cmd.Flags().StringVar(&o.BinDir, "bin-dir", "/opt/cni/bin", a.text.T("cni.flag.bin-dir"))
	cmd.Flags().StringVar(&o.Socket, "socket", "", a.text.T("cni.flag.socket"))
	cmd.Flags().StringVar(&o.Root, "root", "/", a.text.T("cni.flag.root"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.text.T("agent.flag.json"))
	return cmd
}

// maxConf bounds a configuration, in bytes.
const maxConf = 1 << 20

// read reads a file; "-" is standard input.
func (a *app) read(name string) (doctor.File, error) {
	r := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return doctor.File{}, err
		}
		defer func() { _ = f.Close() }() // nothing was written
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxConf))
	return doctor.File{Name: name, Text: b}, err
}

// state returns the word for a state.
func (a *app) state(s doctor.State) string {
	switch s {
	case doctor.OK:
		return a.text.T("cni.doctor.state.ok")
	case doctor.Warning:
		return a.text.T("cni.doctor.state.warning")
	default:
		return a.text.T("cni.doctor.state.problem")
	}
}

// finding is a finding in JSON, in English.
type finding struct {
	Check string       `json:"check"`
	Where string       `json:"where"`
	State doctor.State `json:"state"`
	Text  string       `json:"text"`
}

// print prints findings. Problems are an error.
func (a *app) print(found []doctor.Finding, asJSON bool) error {
	var err error
	if asJSON {
		out := struct {
			Findings []finding `json:"findings"`
		}{[]finding{}}
		for _, f := range found {
			out.Findings = append(out.Findings, finding{f.Check, f.Where, f.State, f.Text.String()})
		}
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		err = e.Encode(out)
	} else {
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, f := range found {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", a.state(f.State), f.Where, a.text.Say(f.Text)) // Flush reports a failure
		}
		err = w.Flush()
	}
	if err == nil && slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.State == doctor.Problem }) {
		return errProblems
	}
	return err
}
