package diff

import (
	"cmp"
	"slices"
	"strings"

	"fairlane/policy/plan"
)

// findings pairs the findings of both plans. Equal ones are not reported; pairs of the same code, tenants and links are reported as changed,
// and so are similar pairs. Each list is in the order of its plan.
func (x *differ) findings(before, after []plan.Finding) {
	gone, fresh := unequal(before, after)
	var pairs [][2]int // of before and after
	gone, fresh = pairUp(gone, fresh, &pairs, before, after)
	gone, fresh = pairSimilar(gone, fresh, &pairs, before, after)
	slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Compare(a[1], b[1]) })
	for _, p := range pairs {
		x.out.Reworded = append(x.out.Reworded, FindingChange{before[p[0]], after[p[1]]})
	}
	for _, i := range fresh {
		x.out.Appeared = append(x.out.Appeared, after[i])
	}
	for _, i := range gone {
		x.out.Vanished = append(x.out.Vanished, before[i])
	}
}

// unequal lists the findings of each plan that the other lacks.
func unequal(before, after []plan.Finding) (gone, fresh []int) {
	equal := make(map[string]int) // number of equal findings in before
	for i := range before {
		equal[findingKey(&before[i], true)]++
	}
	for i := range after {
		if k := findingKey(&after[i], true); equal[k] > 0 {
			equal[k]--
		} else {
			fresh = append(fresh, i)
		}
	}
	for i := range before {
		if k := findingKey(&before[i], true); equal[k] > 0 {
			equal[k]--
			gone = append(gone, i)
		}
	}
	return gone, fresh
}

// pairUp pairs findings of the same code, tenants and links, in order, and returns the remaining ones.
func pairUp(gone, fresh []int, pairs *[][2]int, before, after []plan.Finding) (persisting, freshStill []int) {
	about := make(map[string][]int)
	for _, i := range gone {
		k := findingKey(&before[i], false)
		about[k] = append(about[k], i)
	}
	paired := make(map[int]bool)
	for _, k := range fresh {
		key := findingKey(&after[k], false)
		if is := about[key]; len(is) > 0 {
			*pairs = append(*pairs, [2]int{is[0], k})
			paired[is[0]], about[key] = true, is[1:]
		} else {
			freshStill = append(freshStill, k)
		}
	}
	return slices.DeleteFunc(gone, func(i int) bool { return paired[i] }), freshStill
}

// maxSimilar bounds the findings of a code that are compared with each other: readers could not match more.
const maxSimilar = 100

// pairSimilar pairs findings that are similar to exactly one of the other plan, and returns the remaining ones.
func pairSimilar(gone, fresh []int, pairs *[][2]int, before, after []plan.Finding) (persisting, freshStill []int) {
	byCode := make(map[string][2][]int)
	for _, i := range gone {
		e := byCode[before[i].Code]
		e[0] = append(e[0], i)
		byCode[before[i].Code] = e
	}
	for _, k := range fresh {
		e := byCode[after[k].Code]
		e[1] = append(e[1], k)
		byCode[after[k].Code] = e
	}
	wasPaired, isPaired := make(map[int]bool), make(map[int]bool)
	for _, e := range byCode {
		if len(e[0]) > maxSimilar || len(e[1]) > maxSimilar {
			continue
		}
		for _, i := range e[0] {
			k, ok := single(e[1], func(k int) bool { return similar(&before[i], &after[k]) })
			if !ok {
				continue
			}
			if _, mutual := single(e[0], func(j int) bool { return similar(&before[j], &after[k]) }); mutual {
				*pairs = append(*pairs, [2]int{i, k})
				wasPaired[i], isPaired[k] = true, true
			}
		}
	}
	return slices.DeleteFunc(gone, func(i int) bool { return wasPaired[i] }), slices.DeleteFunc(fresh, func(k int) bool { return isPaired[k] })
}

// single returns the only element of a list for which right holds.
func single(list []int, right func(int) bool) (one int, ok bool) {
	i := slices.IndexFunc(list, right)
	if i < 0 || slices.ContainsFunc(list[i+1:], right) {
		return 0, false
	}
	return list[i], true
}

// similar reports whether two findings of a code have a tenant in common and a link in common; two empty lists count as having one.
func similar(a, b *plan.Finding) bool { return share(a.Tenants, b.Tenants) && share(a.Links, b.Links) }

func share(a, b []string) bool {
	return len(a) == 0 && len(b) == 0 || slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// findingKey identifies what a finding is about or, with all, its whole content; lists and texts have no control characters.
func findingKey(f *plan.Finding, all bool) string {
	parts := []string{f.Code, strings.Join(f.Tenants, "\x01"), strings.Join(f.Links, "\x01")}
	if all {
		advice := f.Fix
		if f.Advice != nil {
			advice = f.Advice.Canonical()
		}
		parts = append(parts, f.Content(), advice)
	}
	return strings.Join(parts, "\x00")
}
