package remote

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/command/cmdline"
	"fairlane/command/manifest"
	"fairlane/internal/usage"
)

// applyFlags are the flags of `apply`.
type applyFlags struct {
	files      []string
	yes, prune bool
}

func (c *cli) apply() *cobra.Command {
	var f applyFlags
	cmd := c.alone("apply", "  fairlane apply -f lab/ --dry-run\n  fairlane apply -f fabric.yaml -f tenants.yaml --yes\n  fairlane apply -f - --yes < lab.yaml\n  fairlane apply -f lab/ --fabric lab --prune",
		func(cmd *cobra.Command, _ []string) error { return c.applyFiles(cmd, &f) })
	cmd.Long = c.t("apply.long")
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.files, "file", "f", nil, c.t("flag.apply-file"))
	fl.BoolVar(&f.yes, "yes", false, c.t("flag.yes"))
	fl.BoolVar(&f.prune, "prune", false, c.t("flag.apply-prune"))
	c.writes(cmd)
	return cmd
}

func (c *cli) applyFiles(cmd *cobra.Command, f *applyFlags) error {
	switch {
	case len(f.files) == 0:
		return c.usage("err.need-flag", "flag", "file")
	case f.prune && c.fabricName == "":
		return c.usage("err.prune-fabric")
	}
	list, err := c.readManifests(cmd, f.files)
	if err != nil {
		return err
	}
	fabric := c.fabricName
	if fabric == "" {
		fabric = c.getenv("FAIRLANE_FABRIC")
	}
	if err := manifest.InFabric(list, fabric); err != nil {
		return usage.Wrap(err)
	}
	manifest.Sort(list)
	client, err := c.client()
	if err != nil {
		return err
	}
	a := &applying{c: c, cmd: cmd, client: client, prune: f.prune, fabrics: map[string]*place{}}
	if err := a.compare(list); err != nil {
		return err
	}
	return a.carryOut(f)
}

// readManifests reads files, the YAML files under directories, and standard input for "-".
func (c *cli) readManifests(cmd *cobra.Command, paths []string) ([]manifest.Resource, error) {
	var list []manifest.Resource
	var faults []error
	for _, path := range paths {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		for _, file := range files {
			in, name, err := c.open(cmd, file)
			if err != nil {
				return nil, err
			}
			found, err := manifest.Read(name, in)
			_ = in.Close() // only read
			list, faults = append(list, found...), append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, usage.Wrap(err)
	}
	if len(list) == 0 {
		return nil, c.usage("err.no-resources", "files", strings.Join(paths, ", "))
	}
	return list, nil
}

// manifestFiles returns the YAML files under a directory without hidden ones; for another path, the path itself.
func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if directory := err == nil && info.IsDir(); !directory || path == "-" {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		hidden := file != path && strings.HasPrefix(e.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && e.IsDir():
			return fs.SkipDir
		case !hidden && !e.IsDir() && cmdline.IsYAML(file):
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

// change is one line of the difference: "+" creates, "~" changes a field, "-" deletes, "*" acts.
type change struct {
	Change string `json:"change"`
	Object string `json:"object"`
	Field  string `json:"field,omitempty"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// step is one request, or one transaction, of an application.
type step struct {
	id      string
	changes []change
	at      manifest.Place // place of its declaration, for error messages
	later   bool           // it depends on an earlier step, so the service could not validate it in a dry run
	run     func() error
}

// applying is one run of `apply`.
type applying struct {
	c       *cli
	cmd     *cobra.Command
	client  *apiclient.ClientWithResponses
	prune   bool
	fabrics map[string]*place
	steps   []step
	same    int // resources that need no change
}

// report is the result for JSON and YAML.
type report struct {
	Changes   []change `json:"changes"`
	Unchanged int      `json:"unchanged"`
	DryRun    bool     `json:"dry_run"`
	Applied   []string `json:"applied"`
}

// carryOut shows the difference, asks for confirmation, and executes the steps in order.
func (a *applying) carryOut(f *applyFlags) error {
	c := a.c
	r := report{Changes: []change{}, Unchanged: a.same, DryRun: c.dry, Applied: []string{}}
	for _, s := range a.steps {
		r.Changes = append(r.Changes, s.changes...)
	}
	show := func() error { return c.print(a.cmd, r, func() *table { return c.changeTable(r.Changes) }) }
	first := c.output == "table" // in JSON and YAML, the difference is part of the result
	if first && len(r.Changes) > 0 {
		if err := show(); err != nil {
			return err
		}
	}
	for _, s := range a.steps {
		if s.later {
			c.say(a.cmd, "msg.apply-later", "object", s.id)
		}
	}
	var failed error
	switch {
	case len(r.Changes) == 0:
		c.say(a.cmd, "msg.apply-same", "count", a.same)
	case c.dry:
		c.say(a.cmd, "msg.dry-run")
	default:
		if err := a.ask(f, len(r.Changes)); err != nil {
			return err
		}
		failed = a.do(&r)
	}
	if first {
		return failed
	}
	return errors.Join(failed, show())
}

func (c *cli) changeTable(list []change) *table {
	t := c.newTable("change", "object", "field", "before", "after")
	for _, x := range list {
		t.add(x.Change, x.Object, x.Field, inline(x.Before), inline(x.After))
	}
	return t
}

// refusedError is an error of the service with the resource that caused it. It keeps the exit code of that error.
type refusedError struct {
	what string
	err  error
}

// Error returns the resource and the error.
func (e *refusedError) Error() string { return e.what + ": " + e.err.Error() }

// Unwrap returns the service's error.
func (e *refusedError) Unwrap() error { return e.err }

// ask requires --yes or a confirmation at the terminal.
func (a *applying) ask(f *applyFlags, changes int) error {
	if f.yes {
		return nil
	}
	return agreed(a.cmd, a.c.texts, "msg.apply-ask", "count", changes)
}

// do executes the steps and reports each that is done. If the service rejects one, it reports which steps were done and
// which not.
func (a *applying) do(r *report) error {
	for i, s := range a.steps {
		if err := s.run(); err != nil {
			rest := make([]string, 0, len(a.steps)-i)
			for _, x := range a.steps[i+1:] {
				rest = append(rest, x.id)
			}
			a.c.say(a.cmd, "msg.apply-stopped", "done", commas(r.Applied), "refused", s.id, "rest", commas(rest))
			var placed *refusedError
			var wrong *usage.Error
			if errors.As(err, &placed) || errors.As(err, &wrong) {
				return err // the error already says it
			}
			return &refusedError{s.at.String() + ": " + s.id, err}
		}
		r.Applied = append(r.Applied, s.id)
		a.c.say(a.cmd, "msg.apply-done", "object", s.id)
	}
	return nil
}

func commas(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}
