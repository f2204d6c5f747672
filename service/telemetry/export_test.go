package telemetry

import "context"

// MeasureAround measures the time in which pass runs.
func (c *EtherCollector) MeasureAround(ctx context.Context, pass func()) (Report, error) {
	first, err := c.sample(ctx)
	if err != nil {
		return Report{}, err
	}
	pass()
	last, err := c.sample(ctx)
	if err != nil {
		return Report{}, err
	}
	w := etherWindow{c: c, a: first, b: last}
	return w.report(), nil
}
