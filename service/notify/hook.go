package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlane/service/series"
	"fairlane/service/webhook"
)

// hook is a receiver of webhooks.
type hook struct {
	named  string
	sender *webhook.Sender
}

var _ receiver = (*hook)(nil)

func (*hook) kind() Kind     { return KindWebhook }
func (h *hook) name() string { return h.named }
func (h *hook) close()       { h.sender.Close() }

func (h *hook) deliver(ctx context.Context, id string, n *Notification) error {
	body, err := json.Marshal(hookBody(h.named, n))
	if err != nil {
		return fmt.Errorf("encode a notification: %w", err)
	}
	return h.sender.Post(ctx, id, body)
}

// message is the body of a webhook: version 4 of Alertmanager's format.
type message struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            string            `json:"status"`
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []messageAlert    `json:"alerts"`
}

type messageAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"` // year 1 while the alert fires
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

func hookBody(receiver string, n *Notification) message {
	m := message{
		Version: "4", GroupKey: n.Key, TruncatedAlerts: n.Left, Status: string(n.Status()), Receiver: receiver, GroupLabels: series.Map(n.Labels),
		CommonLabels: common(n.Alerts, labels), CommonAnnotations: common(n.Alerts, func(a *series.Alert) []series.Label { return a.Annotations }),
		ExternalURL: n.External, Alerts: make([]messageAlert, len(n.Alerts)),
	}
	for i := range n.Alerts {
		a := &n.Alerts[i]
		m.Alerts[i] = messageAlert{
			Status: string(a.State), Labels: series.Map(labels(a)), Annotations: series.Map(a.Annotations), StartsAt: began(a).UTC(),
			EndsAt: a.ResolvedAt.UTC(), GeneratorURL: n.External, Fingerprint: fingerprint(a),
		}
	}
	return m
}

// Status is firing while an alert of the group fires.
func (n *Notification) Status() series.AlertState {
	if n.Firing > 0 {
		return series.AlertFiring
	}
	return series.AlertResolved
}

// began returns when an alert began to fire.
func began(a *series.Alert) time.Time {
	if a.FiredAt.IsZero() {
		return a.ActiveAt
	}
	return a.FiredAt
}
