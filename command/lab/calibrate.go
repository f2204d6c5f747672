package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/ccconfig/profile"
	"fairlane/command/cmdline"
	"fairlane/internal/buildinfo"
	"fairlane/internal/outfile"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/sim/lab/calibrate"
)

type calibrateFlags struct {
	profile, out, resume, plot string
	jobs                       int
	seed                       uint64
	quick, json                bool
}

func (a *app) calibrateCommand() *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use: "calibrate", Short: a.T("calibrate.short"), Long: a.T("calibrate.long", "profiles", strings.Join(profile.Names(), ", ")), Args: cobra.NoArgs,
		Example: `  fairlane calibrate --profile connectx-6 --out connectx-6.json
  fairlane calibrate --profile connectx-7 --out connectx-7.json --resume runs.jsonl --plot charts
  fairlane calibrate --profile connectx-6 --quick --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.jobs < 1 || f.jobs > calibrate.MaxJobs {
				return usage.Of(phrase.Of("usage.flag-range", "flag", "jobs", "value", f.jobs, "min", 1, "max", calibrate.MaxJobs))
			}
			if _, err := profile.Uncalibrated(f.profile); err != nil {
				return usage.Wrap(phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "profile", "reason", err)))
			}
			if f.out != "" && !strings.HasSuffix(f.out, ".json") {
				return usage.Of(phrase.Of("usage.out-json", "file", f.out))
			}
			return a.runCalibrate(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.profile, "profile", profile.Default, a.T("calibrate.flag.profile"))
	cmd.Flags().StringVar(&f.out, "out", "", a.T("calibrate.flag.out"))
	cmd.Flags().StringVar(&f.resume, "resume", "", a.T("calibrate.flag.resume"))
	cmd.Flags().StringVar(&f.plot, "plot", "", a.T("calibrate.flag.plot"))
	cmd.Flags().IntVar(&f.jobs, "jobs", min(runtime.GOMAXPROCS(0), calibrate.MaxJobs), a.T("calibrate.flag.jobs"))
	a.SeedFlag(cmd, &f.seed, 1)
	cmd.Flags().BoolVar(&f.quick, "quick", false, a.T("calibrate.flag.quick"))
	cmd.Flags().BoolVar(&f.json, "json", false, a.T("flag.json"))
	return cmd
}

func (a *app) runCalibrate(ctx context.Context, f calibrateFlags) (err error) {
	o := calibrate.Options{Profile: f.profile, Seed: f.seed, Jobs: f.jobs, Quick: f.quick, Command: calibrate.CommandLine(f.profile, f.seed, f.quick)}
	if f.resume != "" {
		file, openErr := resumeRuns(f.resume, &o)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	p, begun, first := progress.On(a.Stderr), time.Now(), -1
	var finished int
	o.Progress = func(done, all int) {
		finished = done
		if first < 0 {
			first = done - 1 // runs that were resumed take no time
		}
		if len(o.Known) > first && done <= len(o.Known) {
			first, begun = done, time.Now()
		}
		left := progress.Left(begun, float64(max(done-first, 1))/float64(max(all-first, 1)))
		p.Show(a.T("calibrate.progress", "done", done, "total", all, "left", left))
	}
	r, err := calibrate.Calibrate(ctx, o)
	p.Clear()
	if err != nil && ctx.Err() != nil {
		_, _ = fmt.Fprintln(a.Stderr, a.stoppedCalibration(f, finished))
	}
	if err != nil {
		return err
	}
	if err := a.saveCalibration(f, r); err != nil {
		return err
	}
	if f.json {
		return cmdline.PrintJSON(a.Stdout, r)
	}
	return a.printCalibration(r)
}

// stoppedCalibration returns a message about the rest of an interrupted calibration.
func (a *app) stoppedCalibration(f calibrateFlags, done int) string {
	if f.resume == "" {
		return a.T("calibrate.stopped.lost", "done", done)
	}
	return a.T("calibrate.stopped.kept", "done", done, "file", f.resume)
}

// resumeRuns reads the finished runs and opens the file to append more. It first removes a line that a kill truncated,
// so that the next line is complete.
func resumeRuns(path string, o *calibrate.Options) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if o.Known, err = calibrate.ReadFinished(file); err != nil {
		return nil, usage.Wrap(errors.Join(fmt.Errorf("%s: %w", path, err), file.Close()))
	}
	if err := cutLine(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	o.Finished = func(key string, m *calibrate.Measured) error { return calibrate.WriteFinished(file, key, m) }
	return file, nil
}

// cutLine truncates a file after the last complete line that ReadFinished has read, and seeks to its end. It does not
// touch earlier lines, so a kill here loses no run.
func cutLine(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	tail := make([]byte, min(size, calibrate.MaxLine+2))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err
	}
	text, ended := bytes.CutSuffix(tail, []byte("\n"))
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	switch {
	case json.Valid(last) && ended:
		return nil
	case json.Valid(last):
		_, err = file.Write([]byte("\n"))
		return err
	}
	end := size - int64(len(tail)-len(text)+len(last))
	if err := file.Truncate(end); err != nil {
		return err
	}
	_, err = file.Seek(end, io.SeekStart)
	return err
}

// saveCalibration writes the profile and the charts.
func (a *app) saveCalibration(f calibrateFlags, r *calibrate.Report) error {
	if f.out != "" {
		text, err := r.Profile.Encode()
		if err != nil {
			return err
		}
		if err := writeProfile(f.out, text); err != nil {
			return fmt.Errorf("write profile: %w", err)
		}
	}
	dir := f.plot
	if dir == "" && f.out != "" {
		dir = filepath.Dir(f.out)
	}
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("folder for charts: %w", err)
	}
	charts := calibrationCharts(r, fmt.Sprintf("%s, fairlane %s", r.Profile.Made, buildinfo.Version()))
	for _, name := range slices.Sorted(maps.Keys(charts)) {
		if err := charts[name].Save(dir, r.Profile.Name+"-"+name); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(a.Stderr, a.T("calibrate.written", "charts", strconv.Itoa(len(charts)), "dir", dir))
	return nil
}

// printCalibration prints the results in three short tables.
func (a *app) printCalibration(r *calibrate.Report) error {
	_, _ = fmt.Fprintln(a.Stdout, a.T("calibrate.summary", "profile", r.Profile.Name, "runs", r.Runs, "checks", len(r.Checks), "use", cmdline.Percent(r.Use)))
	tw := cmdline.NewTable(a.Stdout, 0)
	_, _ = fmt.Fprintln(tw, a.T("calibrate.head.bounds"))
	for _, b := range r.Profile.Bounds {
		_, _ = fmt.Fprintf(tw, "%g:1\t%s\n", b.Ratio, fine(b.Error))
	}
	_, _ = fmt.Fprintln(tw)
	_, _ = fmt.Fprintln(tw, a.T("calibrate.head.registers"))
	for _, e := range r.Profile.Registers {
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%d\t%.3g\t%s\n", e.Register, e.Base, e.Value, e.Ratio, cmdline.Percent(e.Use))
	}
	return tw.Flush()
}

// writeProfile writes a file and creates its folder.
func writeProfile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return outfile.WriteMode(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
