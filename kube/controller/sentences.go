package controller

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlane/kube/v1alpha1"
)

// verdict is the content of a condition or an event: a reason for programs and a sentence for people. Objects of a cluster
// have no reader's language, so the sentences are English; all of them are made in this file.
type verdict struct {
	status       metav1.ConditionStatus
	reason, text string
}

func yes(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionTrue, reason, fmt.Sprintf(format, args...)}
}

func no(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
}

func unknown(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionUnknown, reason, fmt.Sprintf(format, args...)}
}

func saidBound(b *v1alpha1.TenantBinding) verdict {
	return yes("Bound", "Tenant %s exists on fabric %s.", b.Spec.Tenant, b.Spec.Fabric)
}

func saidNoTenant(b *v1alpha1.TenantBinding) verdict {
	return no("TenantNotFound", "The manager has no tenant %s on fabric %s. Create the tenant, or correct the binding.", b.Spec.Tenant, b.Spec.Fabric)
}

func saidNoClass(b *v1alpha1.TenantBinding, classes []TenantClass) verdict {
	if len(classes) == 0 {
		return no("ClassNotFound", "Tenant %s has no classes, so only the class %s is allowed; found %s.", b.Spec.Tenant, defaultClass, b.Spec.Class)
	}
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = c.Name
	}
	return no("ClassNotFound", "Tenant %s has no class %s; allowed: %s.", b.Spec.Tenant, b.Spec.Class, strings.Join(names, ", "))
}

func saidUnreachable() verdict {
	return unknown("ManagerUnreachable", "The manager does not answer. Nodes keep the classes that they have; the controller tries again.")
}

func saidRefused(err *RefusedError) verdict {
	return no("Refused", "The manager refuses the request: %s", err.Detail)
}

func saidUnambiguous() verdict {
	return yes("Unambiguous", "No namespace is selected by another binding.")
}

// shownNames is the number of names that a sentence lists at most.
const shownNames = 5

func saidDisputed(all []dispute) verdict {
	var list []string
	for _, d := range all[:min(len(all), shownNames)] {
		list = append(list, d.namespace+" ("+strings.Join(d.others, ", ")+")")
	}
	return no("NamespaceDisputed", "%s also selected by other bindings: %s%s. New pods there get no class, running pods keep theirs. Change a selector or the namespace's labels.",
		count(len(all), "namespace is", "namespaces are"), strings.Join(list, "; "), more(len(all)))
}

func saidNoAttachments() verdict {
	return yes("NoAttachments", "No pod of the bound namespaces has an attachment.")
}

func saidInForce(plan string) verdict {
	return yes("InForce", "All attachments are in the plan in force, %s.", short(plan))
}

func saidBadPorts(fabric string, ports []BadPort) verdict {
	list := make([]string, 0, shownNames)
	for _, p := range ports[:min(len(ports), shownNames)] {
		list = append(list, p.Port+" ("+p.Reason+")")
	}
	return no("PortsRefused", "Fabric %s does not accept %s: %s%s. Discover the fabric again, or correct the port names of the node agents.",
		fabric, count(len(ports), "port", "ports"), strings.Join(list, "; "), more(len(ports)))
}

func saidNoPlan(fabric string) verdict {
	return no("NoPlan", "Fabric %s has no plan in force. Roll out its first plan; from then on the controller keeps it current.", fabric)
}

func saidPlanned(fabric, plan string) verdict {
	return no("Planned", "Plan %s is ready, and a limit of 0 allows no automatic rollout. Review it, then start it with: %s", short(plan), startCommand(fabric, plan))
}

func saidNotStarted(fabric, plan string, err *RefusedError) verdict {
	reason := map[string]string{NeedsOperator: "NeedsOperator", TooManySettings: "OverLimit"}[err.Code]
	if reason == "" {
		return no("Refused", "The manager refuses the rollout of plan %s: %s", short(plan), err.Detail)
	}
	return no(reason, "The manager refuses the rollout of plan %s: %s. Review it, then start it with: %s", short(plan), strings.TrimRight(err.Detail, "."), startCommand(fabric, plan))
}

func startCommand(fabric, plan string) string {
	return "fairlane rollout start --fabric " + fabric + " --plan " + short(plan)
}

func saidRolling(r Rollout) verdict {
	return no("RollingOut", "Rollout %d brings plan %s to the devices.", r.ID, short(r.Plan))
}

func saidWaiting(r Rollout) verdict {
	return no("Waiting", "Rollout %d of another plan is running. The controller plans again when it has ended.", r.ID)
}

func saidRolloutEnded(r Rollout) verdict {
	return no("RolloutFailed", "Rollout %d of plan %s ended as %s: %s. It is not repeated; the next change of attachments is planned again.", r.ID, short(r.Plan), r.State, strings.TrimRight(r.Result, "."))
}

func saidRolloutFailed(r Rollout, next time.Time) verdict {
	return no("RolloutFailed", "Rollout %d of plan %s ended as %s: %s. It is repeated after %s.", r.ID, short(r.Plan), r.State, strings.TrimRight(r.Result, "."), next.UTC().Format("15:04:05 UTC"))
}

func saidNotMeasured() verdict {
	return unknown("NotMeasured", "There is no current measurement of the tenant.")
}

// sharesVerdicts holds the verdict for each state of a tenant that does not contend.
var sharesVerdicts = map[string]verdict{
	"idle":       yes("Idle", "The tenant sends almost nothing."),
	"cap":        yes("Capped", "The tenant's cap limits it."),
	"own-port":   yes("OwnPort", "The ports from which the tenant sends limit it."),
	"other-link": yes("OtherLink", "A link elsewhere limits the tenant."),
	"demand":     yes("Demand", "The tenant requests less than it may have."),
	"path-down":  no("PathDown", "A port of the tenant has no link."),
}

func saidHeld() verdict {
	return yes("Held", "The tenant receives its share on the contended links.")
}

func saidBelow() verdict {
	return no("BelowShare", "The tenant receives less than its share on a contended link.")
}

// Causes of a port below its entitlement, as they end a sentence.
const (
	causeWithinRights = "contention within rights"
	causeExceeded     = "another tenant exceeds its share"
	causePathDown     = "no link"
)

func saidPodBelow(below, ports int, cause string) verdict {
	return no("BelowEntitlement", "%d of %s below entitlement: %s", below, count(ports, "port", "ports"), cause)
}

func saidPodHeld(ports int) verdict {
	return yes("AtEntitlement", "%s at or above entitlement", count(ports, "port", "ports"))
}

func saidRemoving(b *v1alpha1.TenantBinding) verdict {
	return unknown("Removing", "The manager does not answer. The binding is deleted when its attachments are removed from tenant %s.", b.Spec.Tenant)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func more(n int) string {
	if n <= shownNames {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-shownNames)
}

// short returns the first digits of a plan's name, which commands accept.
func short(plan string) string { return plan[:min(12, len(plan))] }
