package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

// maxScenario bounds a scenario file, in bytes, as the contract does.
const maxScenario = 1 << 20

// task is a simulation or a calibration as the commands see it.
type task struct {
	id            int64
	state         gen.TaskState
	progress      float64
	what, failure string
	actor         string
	created       time.Time
	result        map[string]any
	whole         any // as the service answered
}

func simulationTask(s *gen.Simulation) task {
	what := orZero(s.Fabric) + " " + short(orZero(s.Plan))
	if s.Plan == nil {
		what = ""
	}
	return task{id: s.ID, state: s.State, progress: s.Progress, what: what, failure: orZero(s.Error), actor: s.Actor, created: s.CreatedAt, result: s.Result, whole: s}
}

func calibrationTask(s *gen.Calibration) task {
	return task{id: s.ID, state: s.State, progress: s.Progress, what: s.Profile, failure: orZero(s.Error), actor: s.Actor, created: s.CreatedAt, result: s.Result, whole: s}
}

// tasks are the requests that one kind of task is managed by.
type tasks struct {
	noun   string
	list   func(*cobra.Command, *gen.ClientWithResponses) ([]task, any, error)
	get    func(*cobra.Command, *gen.ClientWithResponses, int64) (task, error)
	cancel func(*cobra.Command, *gen.ClientWithResponses, int64) (task, error)
}

// verbs are the commands that both kinds have.
func (c *cli) taskVerbs(k tasks) []*cobra.Command {
	one := cobra.ExactArgs(1)
	example := func(verb, arg string) string { return "  fairlane " + k.noun + " " + verb + arg }
	cancel := c.verb(k.noun, "cancel ID", example("cancel", " 7"), one, c.onTask(func(cmd *cobra.Command, client *gen.ClientWithResponses, id int64) error {
		t, err := k.cancel(cmd, client, id)
		if err != nil {
			return err
		}
		c.kept(cmd, "msg.task-canceling", "id", id)
		return c.print(cmd, t.whole, func() *table { return c.taskTable([]task{t}) })
	}))
	c.writes(cancel)
	return []*cobra.Command{
		cancel,
		c.verb(k.noun, "list", example("list", ""), cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			list, whole, err := k.list(cmd, client)
			if err != nil {
				return err
			}
			return c.print(cmd, whole, func() *table { return c.taskTable(list) })
		}),
		c.verb(k.noun, "show ID", example("show", " 7 -o json"), one, c.onTask(func(cmd *cobra.Command, client *gen.ClientWithResponses, id int64) error {
			t, err := k.get(cmd, client, id)
			if err != nil {
				return err
			}
			return c.showTask(cmd, t)
		})),
		c.verb(k.noun, "watch ID", example("watch", " 7"), one, c.onTask(func(cmd *cobra.Command, client *gen.ClientWithResponses, id int64) error {
			return c.followTask(cmd, client, k, id)
		})),
	}
}

// onTask reads the task's number and connects.
func (c *cli) onTask(run func(*cobra.Command, *gen.ClientWithResponses, int64) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id < 1 {
			return c.usage("err.task-id", "found", fmt.Sprintf("%q", args[0]))
		}
		client, err := c.client()
		if err != nil {
			return err
		}
		return run(cmd, client, id)
	}
}

func (c *cli) taskTable(list []task) *table {
	t := c.newTable("id>", "about", "state", "progress>", "actor", "created", "fault")
	for _, x := range list {
		t.add(x.id, x.what, c.t("task."+string(x.state)), percent(x.progress), x.actor, x.created.Format(timeFormat), x.failure)
	}
	return t
}

// showTask prints a task, and its result when it has one.
func (c *cli) showTask(cmd *cobra.Command, t task) error {
	if c.output != "table" {
		return c.print(cmd, t.whole, nil)
	}
	out := cmd.OutOrStdout()
	if err := c.taskTable([]task{t}).write(out); err != nil || t.result == nil {
		return err
	}
	fmt.Fprintln(out)
	return c.fieldTable(t.result).write(out)
}

// followTask prints the progress on standard error until the task has ended. It fails when the task did.
func (c *cli) followTask(cmd *cobra.Command, client *gen.ClientWithResponses, k tasks, id int64) error {
	last := -1
	for {
		var t task
		var err error
		ask := func() error { t, err = k.get(cmd, client, id); return err }
		if last < 0 {
			err = ask()
		} else {
			err = c.patiently(cmd, ask)
		}
		if err != nil {
			return err
		}
		switch t.state {
		case gen.TaskStateQueued, gen.TaskStateRunning:
		default:
			c.say(cmd, "msg.task-ended", "id", id, "state", c.t("task."+string(t.state)))
			if err := c.showTask(cmd, t); err != nil {
				return err
			}
			if t.state != gen.TaskStateSucceeded {
				return errors.New(c.t("err.task-failed", "id", id, "error", clean(t.failure)))
			}
			return nil
		}
		if now := int(100 * t.progress); now > last {
			last = now
			c.say(cmd, "msg.task-progress", "id", id, "state", c.t("task."+string(t.state)), "percent", now)
		}
		if err := pause(cmd.Context(), pollEvery); err != nil {
			return err
		}
	}
}

func (c *cli) simulation() *cobra.Command {
	k := tasks{
		noun: "simulation",
		list: func(cmd *cobra.Command, client *gen.ClientWithResponses) ([]task, any, error) {
			all, err := pages(func(cursor *string) ([]gen.Simulation, *string, error) {
				list, err := found[gen.SimulationList](c)(client.ListSimulationsWithResponse(cmd.Context(), &gen.ListSimulationsParams{Limit: pageSize(), Cursor: cursor}))
				if err != nil {
					return nil, nil, err
				}
				return list.Items, list.NextCursor, nil
			})
			out := make([]task, len(all))
			for i := range all {
				out[i] = simulationTask(&all[i])
			}
			return out, all, err
		},
		get: func(cmd *cobra.Command, client *gen.ClientWithResponses, id int64) (task, error) {
			s, err := found[gen.Simulation](c)(client.GetSimulationWithResponse(cmd.Context(), id))
			if err != nil {
				return task{}, err
			}
			return simulationTask(s), nil
		},
		cancel: func(cmd *cobra.Command, client *gen.ClientWithResponses, id int64) (task, error) {
			s, err := accepted[gen.Simulation](c)(client.CancelSimulationWithResponse(cmd.Context(), id, &gen.CancelSimulationParams{DryRun: given(c.dry)}))
			if err != nil {
				return task{}, err
			}
			return simulationTask(s), nil
		},
	}
	var plan, file string
	var before, wait bool
	var seed int64
	start := c.verb("simulation", "start", "  fairlane simulation start --plan 3f9a61c2 --before --wait\n  fairlane simulation start -f scenario.yaml --seed 7", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			body := gen.SimulationCreate{Before: given(before)}
			if cmd.Flags().Changed("seed") {
				body.Seed = &seed
			}
			return c.simulationStart(cmd, k, body, plan, file, wait)
		})
	f := start.Flags()
	f.StringVar(&plan, "plan", "", c.t("flag.plan"))
	f.StringVarP(&file, "file", "f", "", c.t("flag.scenario"))
	f.BoolVar(&before, "before", false, c.t("flag.before"))
	f.Int64Var(&seed, "seed", 1, c.t("flag.seed"))
	f.BoolVar(&wait, "wait", false, c.t("flag.wait-task"))
	c.writes(start)
	return c.noun("simulation", append(c.taskVerbs(k), start)...)
}

func (c *cli) simulationStart(cmd *cobra.Command, k tasks, body gen.SimulationCreate, plan, file string, wait bool) error {
	if (plan == "") == (file == "") {
		return c.usage("err.plan-or-file")
	}
	var client *gen.ClientWithResponses
	var err error
	if file != "" {
		text, err := c.readAll(cmd, file, maxScenario)
		if err != nil {
			return err
		}
		body.Scenario = new(string(text))
		if client, err = c.client(); err != nil {
			return err
		}
	} else {
		var fabric string
		if client, fabric, err = c.pick(cmd); err != nil {
			return err
		}
		body.Plan, body.Fabric = &plan, &fabric
	}
	s, err := accepted[gen.Simulation](c)(client.StartSimulationWithResponse(cmd.Context(), &gen.StartSimulationParams{DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	return c.started(cmd, client, k, simulationTask(s), wait)
}

// started shows a task that was begun, or follows it.
func (c *cli) started(cmd *cobra.Command, client *gen.ClientWithResponses, k tasks, t task, wait bool) error {
	c.kept(cmd, "msg.task-started", "id", t.id)
	if wait && !c.dry {
		return c.followTask(cmd, client, k, t.id)
	}
	return c.print(cmd, t.whole, func() *table { return c.taskTable([]task{t}) })
}

// readAll reads a file, or standard input for "-", of at most limit bytes.
func (c *cli) readAll(cmd *cobra.Command, path string, limit int64) ([]byte, error) {
	in, name, err := c.open(cmd, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, &UsageError{err.Error()}
	}
	if int64(len(text)) > limit {
		return nil, c.usage("err.file-size", "file", name, "limit", limit)
	}
	return text, nil
}

func (c *cli) calibration() *cobra.Command {
	k := tasks{
		noun: "calibration",
		list: func(cmd *cobra.Command, client *gen.ClientWithResponses) ([]task, any, error) {
			all, err := pages(func(cursor *string) ([]gen.Calibration, *string, error) {
				list, err := found[gen.CalibrationList](c)(client.ListCalibrationsWithResponse(cmd.Context(), &gen.ListCalibrationsParams{Limit: pageSize(), Cursor: cursor}))
				if err != nil {
					return nil, nil, err
				}
				return list.Items, list.NextCursor, nil
			})
			out := make([]task, len(all))
			for i := range all {
				out[i] = calibrationTask(&all[i])
			}
			return out, all, err
		},
		get: func(cmd *cobra.Command, client *gen.ClientWithResponses, id int64) (task, error) {
			s, err := found[gen.Calibration](c)(client.GetCalibrationWithResponse(cmd.Context(), id))
			if err != nil {
				return task{}, err
			}
			return calibrationTask(s), nil
		},
		cancel: func(cmd *cobra.Command, client *gen.ClientWithResponses, id int64) (task, error) {
			s, err := accepted[gen.Calibration](c)(client.CancelCalibrationWithResponse(cmd.Context(), id, &gen.CancelCalibrationParams{DryRun: given(c.dry)}))
			if err != nil {
				return task{}, err
			}
			return calibrationTask(s), nil
		},
	}
	var profile string
	var seed int64
	var quick, wait bool
	start := c.verb("calibration", "start", "  fairlane calibration start --profile mlx5-cx6 --quick --wait", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if profile == "" {
			return c.usage("err.need-flag", "flag", "profile")
		}
		client, err := c.client()
		if err != nil {
			return err
		}
		body := gen.CalibrationCreate{Profile: profile, Quick: given(quick), Seed: &seed}
		s, err := accepted[gen.Calibration](c)(client.StartCalibrationWithResponse(cmd.Context(), &gen.StartCalibrationParams{DryRun: given(c.dry)}, body))
		if err != nil {
			return err
		}
		return c.started(cmd, client, k, calibrationTask(s), wait)
	})
	f := start.Flags()
	f.StringVar(&profile, "profile", "", c.t("flag.profile"))
	f.Int64Var(&seed, "seed", 1, c.t("flag.seed"))
	f.BoolVar(&quick, "quick", false, c.t("flag.quick"))
	f.BoolVar(&wait, "wait", false, c.t("flag.wait-task"))
	c.writes(start)
	return c.noun("calibration", append(c.taskVerbs(k), start)...)
}
