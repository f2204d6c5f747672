package workload

// trees is the schedule of all-reduce over one or two binary trees. The vector of a tree is divided into chunks. A rank sends a
// chunk to its parent after all its children have delivered theirs, and to a child after it has the sum; on each edge, chunks
// in the same direction are sequential. Flow e·chunks + c is chunk c on the edge e = 2·n·tree + direction·n + child, where
// direction 0 is up.
type trees struct {
	n     int
	chunk int64 // bytes of a chunk
	most  int64 // number of chunks of the largest tree
	trees []tree
}

type tree struct {
	bytes    int64
	chunks   int32
	parent   []int32    // -1 for the root
	children [][2]int32 // -1 for none
	edges    [2][]edge  // up and down, by child
}

// edge counts the chunks of one direction between a rank and its parent.
type edge struct{ started, delivered int32 }

const up, down = 0, 1

func newTrees(n int, bytes, chunk int64, double bool) *trees {
	t := &trees{n: n, chunk: chunk}
	parts := 1
	if double {
		parts = 2
	}
	for i := range parts {
		t.trees = append(t.trees, newTree(n, i == 1, part(bytes, i, parts), chunk))
		t.most = max(t.most, int64(t.trees[i].chunks))
	}
	return t
}

// newTree builds the in-order binary tree. In the second tree of a pair, a rank is at the mirrored position of the first
// tree. This exchanges leaves (odd ranks) and inner ranks (even ranks). With an odd number of ranks, the second tree is
// rotated by one position instead.
func newTree(n int, second bool, bytes, chunk int64) tree {
	t := tree{
		bytes: bytes, chunks: int32((bytes + chunk - 1) / chunk),
		parent: make([]int32, n), children: make([][2]int32, n),
		edges: [2][]edge{make([]edge, n), make([]edge, n)},
	}
	rank := func(place int) int32 {
		switch {
		case !second:
			return int32(place)
		case n%2 == 0:
			return int32(n - 1 - place)
		default:
			return int32((place + 1) % n)
		}
	}
	for i := range t.children {
		t.children[i] = [2]int32{-1, -1}
	}
	for place := range n {
		r := rank(place)
		above := placeAbove(place, n)
		if above < 0 {
			t.parent[r] = -1
			continue
		}
		p := rank(above)
		t.parent[r] = p
		if t.children[p][0] < 0 {
			t.children[p][0] = r
		} else {
			t.children[p][1] = r
		}
	}
	return t
}

// placeAbove returns the parent's position in the in-order tree of n positions; -1 for position 0, the root. The lowest set
// bit b of a position gives its height. The parent is the position with bit 2b set instead of b, if it is inside the tree,
// and otherwise the position without b.
func placeAbove(place, n int) int {
	if place == 0 {
		return -1
	}
	b := place & -place
	if above := place&^b | b<<1; above < n {
		return above
	}
	return place &^ b
}

func (t *trees) flows() int64 {
	var n int64
	for i := range t.trees {
		n += 2 * int64(t.n-1) * int64(t.trees[i].chunks)
	}
	return n
}

func (t *trees) numbers() int64 { return int64(2*t.n*len(t.trees)) * t.most }

func (t *trees) reset() {
	for i := range t.trees {
		clear(t.trees[i].edges[up])
		clear(t.trees[i].edges[down])
	}
}

func (t *trees) start(out *emitter) {
	for i := range t.trees {
		for r := range t.n {
			t.try(i, up, r, out)
		}
	}
}

func (t *trees) done(flow int64, out *emitter) bool {
	e, c := int(flow/t.most), int32(flow%t.most)
	i, dir, r := e/(2*t.n), e/t.n%2, e%t.n
	tr := &t.trees[i]
	at := &tr.edges[dir][r]
	if at.delivered != c || at.started != c+1 {
		return false
	}
	at.delivered++
	t.try(i, dir, r, out)
	if parent := tr.parent[r]; dir == up && tr.parent[parent] >= 0 {
		t.try(i, up, int(parent), out)
		return true
	} else if dir == up {
		r = int(parent) // the root has the sum of another chunk
	}
	for _, child := range tr.children[r] {
		if child >= 0 {
			t.try(i, down, int(child), out)
		}
	}
	return true
}

// try starts the next chunk on the edge above rank r if it may start.
func (t *trees) try(i, dir, r int, out *emitter) {
	tr := &t.trees[i]
	parent := tr.parent[r]
	if parent < 0 {
		return
	}
	at := &tr.edges[dir][r]
	c := at.started
	if c == tr.chunks || at.delivered < c {
		return
	}
	from, to := r, int(parent)
	switch {
	case dir == up && tr.summed(r) <= c:
		return
	case dir == down:
		from, to = to, from
		if tr.ready(parent) <= c {
			return
		}
	}
	at.started++
	bytes := min(t.chunk, tr.bytes-int64(c)*t.chunk)
	e := int64(2*t.n*i + dir*t.n + r)
	out.emit(e*t.most+int64(c), from, to, bytes)
}

// summed returns the number of chunks that all children of a rank have delivered.
func (tr *tree) summed(r int) int32 {
	n := tr.chunks
	for _, child := range tr.children[r] {
		if child >= 0 {
			n = min(n, tr.edges[up][child].delivered)
		}
	}
	return n
}

// ready returns the number of chunks for which a rank has the sum of all ranks.
func (tr *tree) ready(r int32) int32 {
	if tr.parent[r] < 0 {
		return tr.summed(int(r))
	}
	return tr.edges[down][r].delivered
}
