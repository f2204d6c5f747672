// Package remote is the remote half of the command line: nouns and verbs over the generated API client. It writes data
// to standard output and messages to standard error. cmdline.ExitCode returns the exit code: 0 success, 1 failure, 2
// wrong usage or invalid input.
package remote

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/cobraerror"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// DefaultURL is the default address of the service.
const DefaultURL = "http://127.0.0.1:8470"

// Options are the environment of the commands; the zero value is that of the process.
type Options struct {
	Getenv func(string) string // nil: os.Getenv
	// Args are the arguments of the process, searched for --lang because help texts are built before flags are parsed;
	// nil: os.Args.
	Args []string
	// Admit decides an admission from files, without the service; nil disables this.
	Admit func(AdmitFiles, gen.AdmissionRequest) (*gen.Admission, error)
}

// Commands returns the commands in the language of the environment.
func Commands() []*cobra.Command { return New(Options{}) }

// New returns the commands for a root command.
func New(o Options) []*cobra.Command {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Args == nil {
		o.Args = os.Args
	}
	c := &cli{getenv: o.Getenv, admit: o.Admit, texts: texts(i18n.Asked(o.Args), o.Getenv)}
	all := []*cobra.Command{c.fabric(), c.topology(), c.tenant(), c.flow(), c.plan(), c.rollout(), c.device(), c.baseline(), c.driftPolicy(), c.share(), c.series(), c.alert(), c.objective(), c.maintenance(), c.audit(),
		c.policy(), c.option(), c.attachment(), c.feed(), c.class(), c.simulation(), c.calibration(), c.settings(),
		c.apply(), c.status(), c.login(), c.logout(), c.whoami(), c.password(), c.user(), c.role(), c.token(), c.member(), c.serviceAccount()}
	for _, cmd := range all {
		c.addCommon(cmd)
		c.completes(cmd)
	}
	return all
}

// texts loads the catalogue. Those that Pick names are embedded, so loading cannot fail.
func texts(asked string, getenv func(string) string) *i18n.Catalogue {
	c, err := i18n.Load(i18n.Pick(asked, getenv))
	if err != nil {
		return &i18n.Catalogue{}
	}
	return c
}

// cli is shared by all commands.
type cli struct {
	getenv func(string) string
	texts  *i18n.Catalogue
	admit  func(AdmitFiles, gen.AdmissionRequest) (*gen.Admission, error) // see Options

	url, tokenFile, fabricName, output, lang string
	caFile, certFile, keyFile                string
	asJSON                                   bool
	tenantName                               string // --tenant, on commands passed to c.ofTenant
	rows                                     rowFlags
	dry                                      bool   // --dry-run, on commands passed to c.writes
	match                                    string // --if-match, on commands passed to c.matches
}

// t returns the text of a key in the chosen language.
func (c *cli) t(key string, values ...any) string { return c.texts.T(key, values...) }

// addCommon adds the common flags to a noun, and turns cobra's errors about flags into usage errors.
func (c *cli) addCommon(noun *cobra.Command) {
	f := noun.PersistentFlags()
	f.StringVar(&c.url, "url", "", c.t("flag.url"))
	f.StringVar(&c.tokenFile, "token-file", "", c.t("flag.token-file"))
	f.StringVar(&c.caFile, "ca-file", "", c.t("flag.ca-file"))
	f.StringVar(&c.certFile, "cert-file", "", c.t("flag.cert-file"))
	f.StringVar(&c.keyFile, "key-file", "", c.t("flag.key-file"))
	f.StringVar(&c.fabricName, "fabric", "", c.t("flag.fabric"))
	f.StringVarP(&c.output, "output", "o", "table", c.t("flag.output"))
	f.BoolVar(&c.asJSON, "json", false, c.t("flag.as-json"))
	f.StringVar(&c.lang, "lang", "", c.t("flag.lang"))
	noun.SilenceUsage, noun.SilenceErrors = true, true
	noun.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if c.asJSON {
			if cmd.Flags().Changed("output") && c.output != "json" {
				return c.usage("err.json-or-output")
			}
			c.output = "json"
		}
		switch c.output {
		case "table", "json", "yaml":
		default:
			return c.usage("err.output", "found", fmt.Sprintf("%q", c.output))
		}
		return cmdline.CheckLanguage(c.lang, c.getenv)
	}
	noun.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return wrongArgs(cobraerror.Flag(cmd, err))
	})
	if !noun.HasSubCommands() {
		c.usageOfArgs(noun)
		c.explains(noun)
		return
	}
	c.groups(noun)
}

// groups makes a command that only groups others print its help, and their errors explained.
func (c *cli) groups(group *cobra.Command) {
	group.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return wrongArgs(cobraerror.Command(cmd, args[0]))
		}
		return cmd.Help()
	}
	for _, verb := range group.Commands() {
		verb.SilenceUsage, verb.SilenceErrors = true, true
		if verb.HasSubCommands() {
			c.groups(verb)
			continue
		}
		c.usageOfArgs(verb)
		c.explains(verb)
	}
}

// wrongArgs is a usage error for flags and arguments. One that suggests what to type prints no help.
func wrongArgs(err error) error {
	if strings.HasSuffix(err.Error(), "?") {
		return usage.Wrap(err)
	}
	return usage.Wrap(phrase.Because(err, phrase.Of("usage.see-help", "text", phrase.OfError(err))))
}

// usageOfArgs turns cobra's errors about arguments into usage errors.
func (c *cli) usageOfArgs(verb *cobra.Command) {
	check := verb.Args
	verb.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			check = cobra.NoArgs
		}
		if err := check(cmd, args); err != nil {
			return wrongArgs(cobraerror.Args(cmd, args, err))
		}
		return nil
	}
}

// usage returns a usage error with the text of a key.
func (c *cli) usage(key string, values ...any) error { return usage.Errorf("%s", c.t(key, values...)) }

// say prints a message on standard error.
func (c *cli) say(cmd *cobra.Command, key string, values ...any) {
	fmt.Fprintln(cmd.ErrOrStderr(), c.t(key, values...))
}

// open opens a file, or standard input for "-". name is the name for error messages.
func (c *cli) open(cmd *cobra.Command, path string) (r io.ReadCloser, name string, err error) {
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), "stdin", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", usage.Wrap(err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // only stat was called
		return nil, "", c.usage("err.directory", "path", path)
	}
	return f, path, nil
}

// verb builds a subcommand whose Short is the catalogue's text for noun and name.
func (c *cli) verb(noun, use, example string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	cmd := &cobra.Command{
		Use: use, Short: c.t("cmd." + noun + "." + name), Example: example, Args: args, RunE: run,
	}
	if name == "list" { // of any length: one row for each object of the kind
		c.long("", cmd)
	}
	return cmd
}

// noun builds a command that only groups verbs.
func (c *cli) noun(name string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: c.t("cmd." + name)}
	cmd.AddCommand(verbs...)
	return cmd
}
