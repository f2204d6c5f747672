package gnmidev

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// Tables that the guard of RDMA settings protects.
const (
	wredTable    = "WRED_PROFILE"
	profileTable = "BUFFER_PROFILE"
	poolTable    = "BUFFER_POOL"
	watchdog     = "PFC_WD"
)

// GuardList is a generation of the list of changes that the generic config updater permits.
type GuardList uint8

// Guard lists.
const (
	// Guard2025 is the list of images before 2026-01-27. It refuses every change of a row of SCHEDULER; new rows are permitted.
	Guard2025 GuardList = iota
	// Guard2026 is the list since 2026-01-27: profiles of marking are free, weights of DWRR schedulers may be replaced, buffer pools may not be
	// changed at all, and maps cannot be changed in practice.
	Guard2026
)

// guardedFields returns the fields that the guard allows a patch to replace, in lower case, as ENTRY/FIELD; entry "*"
// matches all. It returns nil for an unguarded table.
func guardedFields(name string) []string {
	switch name {
	case wredTable:
		return []string{"azure_lossless/green_min_threshold", "azure_lossless/green_max_threshold", "azure_lossless/green_drop_probability"}
	case profileTable:
		return []string{"*/dynamic_th", "*/xoff"}
	case poolTable:
		return []string{"ingress_lossless_pool/size", "ingress_lossless_pool/xoff", "egress_lossy_pool/size"}
	case watchdog:
		return []string{"*/action", "*/detection_time", "*/restoration_time", "global/poll_interval"}
	}
	return nil
}

// oldestBuild returns the build date of the first image on which an ASIC's tables may be changed. It returns false for an
// ASIC that the guard does not list.
func oldestBuild(asic string) (int, bool) {
	builds := map[string]int{"spc4": 20221100, "th": 20181100, "th3": 20240500, "th4": 20240500, "th5": 20240500}
	b, ok := builds[asic]
	return b, ok
}

// guard checks whether the guard of RDMA settings allows one operation of a patch.
func (s *Switch) guard(c *change, before database) error {
	if s.o.Unguarded {
		return nil
	}
	if len(c.path) < 2 {
		return s.guardWhole(c, before)
	}
	if c.path[0] == schedulerTable {
		return s.guardScheduler(c, before)
	}
	if s.o.Guard == Guard2026 {
		switch c.path[0] {
		case wredTable:
			return nil
		case poolTable, "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP":
			return s.refused(c, "no change of the table is allowed")
		case profileTable:
			if len(c.path) == 2 {
				return nil
			}
		}
	}
	list := guardedFields(c.path[0])
	if list == nil {
		return nil
	}
	if oldest, ok := oldestBuild(s.o.ASIC); !ok || s.o.Build < oldest {
		return s.refused(c, "the guard does not list the switch's ASIC and image")
	}
	if c.path[0] == watchdog && len(c.path) == 2 {
		return nil // adding or removing a whole entry is allowed
	}
	if len(c.path) == 3 && slices.ContainsFunc(list, func(allowed string) bool {
		entry, field, _ := strings.Cut(allowed, "/")
		return (entry == "*" || strings.EqualFold(entry, c.path[1])) && strings.EqualFold(field, c.path[2])
	}) {
		if c.op == patchReplace || c.path[0] == watchdog {
			return nil
		}
		return s.refused(c, "only replace is allowed for this field")
	}
	return s.refused(c, "allowed fields: "+strings.Join(list, ", "))
}

// guardWhole checks an operation on a whole table or more, change by change.
func (s *Switch) guardWhole(c *change, before database) error {
	after := before.clone()
	if err := after.apply(c); err != nil {
		return err
	}
	for _, e := range difference(before, after) {
		if guardedFields(e[0]) != nil || e[0] == schedulerTable && before.has(e[:]) {
			return s.refused(c, "it changes "+e[0]+"|"+e[1])
		}
	}
	return nil
}

// schedulerTable is the table of schedulers.
const schedulerTable = "SCHEDULER"

// guardScheduler permits new rows and the removal of rows and, since 2026, replace of the weight of a DWRR scheduler.
func (s *Switch) guardScheduler(c *change, before database) error {
	switch {
	case len(c.path) == 2 && (c.op == patchRemove || !before.has(c.path)):
		return nil
	case s.o.Guard == Guard2026 && len(c.path) == 3 && c.path[2] == "weight" && c.op == patchReplace && before[schedulerTable][c.path[1]]["type"] == "DWRR":
		return nil
	case s.o.Guard == Guard2026:
		return s.refused(c, "only replace of weight is allowed, on DWRR")
	}
	return s.refused(c, "a row cannot be changed")
}

// refused returns the updater's error for a rejected change.
func (s *Switch) refused(c *change, why string) error {
	name := ""
	if len(c.path) > 0 {
		name = c.path[0]
	}
	return gnmitree.Errorf(codes.PermissionDenied,
		"%s: modification of %s table is illegal: validating function rdma_config_update_validator returned False: %s", c, name, why)
}
