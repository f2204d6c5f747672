// Package app wires fairlane-cni: the plugin when a container runtime starts it, otherwise its command line.
package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/spf13/cobra"

	"fairlane/cni"
	"fairlane/cni/doctor"
	"fairlane/internal/buildinfo"
	"fairlane/internal/i18n"
	"fairlane/internal/program"
	"fairlane/internal/usage"
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
		return program.ExitDone
	}
	if err := err.Print(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
	return program.ExitFailed
}

// app is the common state of the commands.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	text   *i18n.Catalogue
}

// Main runs the command line and returns its exit code: 0 done, 1 problems found or failed, 2 wrong usage.
func Main(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Main(ctx, args, getenv, stdout, stderr, func(text *i18n.Catalogue) *cobra.Command {
		a := &app{stdin: stdin, stdout: stdout, text: text}
		root := &cobra.Command{
			Use: "fairlane-cni", Short: text.T("cni.short"), Long: text.T("cni.long"), Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		}
		root.AddCommand(a.doctorCommand(), program.VersionCommand(text.T("agent.version.short")))
		return root
	})
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

// print prints findings. Problems are an error, which they show.
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
		return program.ErrShown
	}
	return err
}
