package remote

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// maxScenario is the maximum size of a scenario file, in bytes, as in the contract.
const maxScenario = 1 << 20

// task is the common part of a simulation and a calibration.
type task struct {
	id            int64
	state         gen.TaskState
	progress      float64
	what, failure string
	said          *phrase.Text // failure as a sentence
	actor         string
	created       time.Time
	result        map[string]any
}

func simulationTask(s *gen.Simulation) task {
	what := cmdline.OrZero(s.Fabric) + " " + short(cmdline.OrZero(s.Plan))
	if s.Plan == nil {
		what = ""
	}
	return task{id: s.ID, state: s.State, progress: s.Progress, what: what, failure: cmdline.OrZero(s.Error), said: s.ErrorSaid, actor: s.Actor, created: s.CreatedAt, result: s.Result}
}

func calibrationTask(s *gen.Calibration) task {
	return task{id: s.ID, state: s.State, progress: s.Progress, what: s.Profile, failure: cmdline.OrZero(s.Error), said: s.ErrorSaid, actor: s.Actor, created: s.CreatedAt, result: s.Result}
}

// tasks are the requests for one kind of task.
type tasks[T any] struct {
	c           *cli
	noun        string
	page        lister[T]
	get, cancel func(context.Context, *apiclient.ClientWithResponses, int64) (*T, error)
	of          func(*T) task
}

// verbs returns the commands of both kinds.
func (k *tasks[T]) verbs() []*cobra.Command {
	c, one := k.c, cobra.ExactArgs(1)
	example := func(verb, arg string) string { return "  fairlane " + k.noun + " " + verb + arg }
	on := func(run func(*cobra.Command, *apiclient.ClientWithResponses, int64) error) func(*cobra.Command, []string) error {
		return c.onNumber(c.anywhere, "err.task-id", func(cmd *cobra.Command, client *apiclient.ClientWithResponses, _ string, id int64) error {
			return run(cmd, client, id)
		})
	}
	cancel := c.verb(k.noun, "cancel ID", example("cancel", " 7"), one, on(func(cmd *cobra.Command, client *apiclient.ClientWithResponses, id int64) error {
		t, err := k.cancel(cmd.Context(), client, id)
		if err != nil {
			return err
		}
		c.kept(cmd, "msg.task-canceling", "id", id)
		return shown(c, cmd, t, k.table)
	}))
	c.writes(cancel)
	return []*cobra.Command{
		cancel,
		c.verb(k.noun, "list", example("list", ""), cobra.NoArgs, listed(c, c.anywhere, k.page, k.table)),
		c.verb(k.noun, "show ID", example("show", " 7 -o json"), one, on(func(cmd *cobra.Command, client *apiclient.ClientWithResponses, id int64) error {
			t, err := k.get(cmd.Context(), client, id)
			if err != nil {
				return err
			}
			return k.show(cmd, t)
		})),
		c.verb(k.noun, "watch ID", example("watch", " 7"), one, on(k.follow)),
	}
}

func (k *tasks[T]) table(list []T) *table {
	t := k.c.newTable("id>", "about", "state", "progress>", "actor", "created", "fault")
	for i := range list {
		x := k.of(&list[i])
		t.add(x.id, x.what, k.c.t("state."+string(x.state)), cmdline.Percent(x.progress), x.actor, x.created.Format(timeFormat), k.c.texts.Either(x.failure, x.said))
	}
	return t
}

// show prints a task, with its result if there is one.
func (k *tasks[T]) show(cmd *cobra.Command, t *T) error {
	return k.c.print(cmd, t, func() *table { return k.table([]T{*t}) }, func() *table {
		if result := k.of(t).result; result != nil {
			return k.c.fieldTable(result)
		}
		return nil
	})
}

// follow prints the progress on standard error until the task ends. It fails if the task failed.
func (k *tasks[T]) follow(cmd *cobra.Command, client *apiclient.ClientWithResponses, id int64) error {
	c, last := k.c, -1
	for {
		var whole *T
		var err error
		ask := func() error { whole, err = k.get(cmd.Context(), client, id); return err }
		if last < 0 {
			err = ask()
		} else {
			err = c.patiently(cmd, ask)
		}
		if err != nil {
			return err
		}
		t := k.of(whole)
		switch t.state {
		case gen.TaskStateQueued, gen.TaskStateRunning:
		default:
			c.say(cmd, "msg.task-ended", "id", id, "state", c.t("state."+string(t.state)))
			if err := k.show(cmd, whole); err != nil {
				return err
			}
			if t.state != gen.TaskStateSucceeded {
				return errors.New(c.t("err.task-failed", "id", id, "error", clean(c.texts.Either(t.failure, t.said))))
			}
			return nil
		}
		if now := int(100 * t.progress); now > last {
			last = now
			c.say(cmd, "msg.task-progress", "id", id, "state", c.t("state."+string(t.state)), "percent", now)
		}
		if err := pause(cmd.Context(), pollEvery); err != nil {
			return err
		}
	}
}

// started shows a task that was started, or follows it.
func (k *tasks[T]) started(cmd *cobra.Command, client *apiclient.ClientWithResponses, t *T, wait bool) error {
	id := k.of(t).id
	k.c.kept(cmd, "msg.task-started", "id", id)
	if wait && !k.c.dry {
		return k.follow(cmd, client, id)
	}
	return shown(k.c, cmd, t, k.table)
}

func (c *cli) simulationPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, _ string, cursor *string) (*page[gen.Simulation], error) {
	list, err := found[gen.SimulationList](c)(client.ListSimulationsWithResponse(cmd.Context(), &gen.ListSimulationsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Simulation])(list), err
}

func (c *cli) simulation() *cobra.Command {
	k := &tasks[gen.Simulation]{
		c: c, noun: "simulation", page: c.simulationPage, of: simulationTask,
		get: func(ctx context.Context, client *apiclient.ClientWithResponses, id int64) (*gen.Simulation, error) {
			return found[gen.Simulation](c)(client.GetSimulationWithResponse(ctx, id))
		},
		cancel: func(ctx context.Context, client *apiclient.ClientWithResponses, id int64) (*gen.Simulation, error) {
			return accepted[gen.Simulation](c)(client.CancelSimulationWithResponse(ctx, id, &gen.CancelSimulationParams{DryRun: given(c.dry)}))
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
	return c.noun("simulation", append(k.verbs(), start)...)
}

func (c *cli) simulationStart(cmd *cobra.Command, k *tasks[gen.Simulation], body gen.SimulationCreate, plan, file string, wait bool) error {
	if (plan == "") == (file == "") {
		return c.usage("err.plan-or-file")
	}
	var client *apiclient.ClientWithResponses
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
	return k.started(cmd, client, s, wait)
}

// readAll reads a file, or standard input for "-", of at most limit bytes.
func (c *cli) readAll(cmd *cobra.Command, path string, limit int64) ([]byte, error) {
	in, name, err := c.open(cmd, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if int64(len(text)) > limit {
		return nil, c.usage("err.file-size", "file", name, "limit", limit)
	}
	return text, nil
}

func (c *cli) calibrationPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, _ string, cursor *string) (*page[gen.Calibration], error) {
	list, err := found[gen.CalibrationList](c)(client.ListCalibrationsWithResponse(cmd.Context(), &gen.ListCalibrationsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Calibration])(list), err
}

func (c *cli) calibration() *cobra.Command {
	k := &tasks[gen.Calibration]{
		c: c, noun: "calibration", page: c.calibrationPage, of: calibrationTask,
		get: func(ctx context.Context, client *apiclient.ClientWithResponses, id int64) (*gen.Calibration, error) {
			return found[gen.Calibration](c)(client.GetCalibrationWithResponse(ctx, id))
		},
		cancel: func(ctx context.Context, client *apiclient.ClientWithResponses, id int64) (*gen.Calibration, error) {
			return accepted[gen.Calibration](c)(client.CancelCalibrationWithResponse(ctx, id, &gen.CancelCalibrationParams{DryRun: given(c.dry)}))
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
		return k.started(cmd, client, s, wait)
	})
	f := start.Flags()
	f.StringVar(&profile, "profile", "", c.t("flag.profile"))
	f.Int64Var(&seed, "seed", 1, c.t("flag.seed"))
	f.BoolVar(&quick, "quick", false, c.t("flag.quick"))
	f.BoolVar(&wait, "wait", false, c.t("flag.wait-task"))
	c.writes(start)
	return c.noun("calibration", append(k.verbs(), start)...)
}
