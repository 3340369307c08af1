"""The recursions over documents: one row of ranks before, one after each document, for every node at once.

Given the threshold x, documents are above it independently. A row holds, for c = 0, 1, ... documents above so
far, the weight of the ways to get there, in one array per state of the marks:

- ``A0``: no document picked yet; ``A1``: one document picked (it sits at x, with weight coefficient x density);
- for average precision two more, ``M0`` and ``M1``: the same with one relevant document above marked as well.

Backward rows hold the expectation of the discount from the same place to the end, as ``B`` and, so that no
subtraction is needed, as ``C(c) = B(c) - B(c+1)``, which obeys the same recursion.

**Cells.** A row is a flat array of cells in one of two layouts. *Lanes*: cell 8 c + l is rank c at node l of
eight, and a document's p, q, w are eight lanes. *Ranks*: cell c is rank c at a single node, and p, q, w are one
number. Moving one document up means going ``shift`` cells on: 8 or 1. All else is the same code. Forward rows
keep only the cells ``start[j] <= i < stop[j]``, with a vector of zeros on either side.

A metric's family (``families``) says how a document above x acts: ``PLAIN``, it moves the count up;
``ABSORBING``, it also lets only 1 - coefficient through; ``MARKED``, it may also be the marked one, if relevant.
"""

from __future__ import annotations

from .compile import routine
from .families import ABSORBING, MARKED, PLAIN
from .noise import second_ratio
from .simd import LANES, lane_sum, load, splat, store
from .workspace import GUARD


@routine
def _value(values, j, shift):
    return load(values, LANES * j) if shift == LANES else splat(values[j])


@routine
def close_row(row, base, begin, end):
    """Put zeros before and after the cells begin..end."""
    store(row, base + begin - GUARD, splat(0.0))
    store(row, base + end, splat(0.0))


@routine
def row_end(begin, stop):
    """The end of a row in whole vectors."""
    return begin + (stop - begin + LANES - 1) // LANES * LANES


@routine
def forward(family, shift, coef, P, Q, W, start, stop, first, last, stride, A0, A1, M0, M1):
    """Rows first+1 .. last from row ``first``; row j begins at (j - first) * stride + GUARD."""
    for j in range(first, last):
        p, q, c = _value(P, j, shift), _value(Q, j, shift), coef[j]
        cw = _value(W, j, shift) * splat(c)
        old = (j - first) * stride + GUARD - start[j]
        new = (j + 1 - first) * stride + GUARD - start[j + 1]
        begin, end = start[j + 1], row_end(start[j + 1], stop[j + 1])
        if family == MARKED:
            rp = p * splat(c)
            for i in range(begin, end, LANES):
                a0, a1, m0, m1 = load(A0, old + i), load(A1, old + i), load(M0, old + i), load(M1, old + i)
                b0, b1 = load(A0, old + i - shift), load(A1, old + i - shift)
                n0, n1 = load(M0, old + i - shift), load(M1, old + i - shift)
                store(A0, new + i, q * a0 + p * b0)
                store(A1, new + i, q * a1 + p * b1 + cw * a0)
                store(M0, new + i, q * m0 + p * n0 + rp * b0)
                store(M1, new + i, q * m1 + p * n1 + rp * b1 + cw * m0)
            close_row(M0, new, begin, end)
            close_row(M1, new, begin, end)
        else:
            if family == ABSORBING:
                p = p * splat(1.0 - c)
            if c == 0.0:  # a document without gain is never the picked one
                for i in range(begin, end, LANES):
                    store(A0, new + i, q * load(A0, old + i) + p * load(A0, old + i - shift))
                    store(A1, new + i, q * load(A1, old + i) + p * load(A1, old + i - shift))
            else:
                for i in range(begin, end, LANES):
                    a0 = load(A0, old + i)
                    store(A0, new + i, q * a0 + p * load(A0, old + i - shift))
                    store(A1, new + i, q * load(A1, old + i) + p * load(A1, old + i - shift) + cw * a0)
        close_row(A0, new, begin, end)
        close_row(A1, new, begin, end)


@routine
def step_back_plain(A0, A1, base, B1, C1, C0, begin, end, shift, p, q, cw, picks):
    """One document back in the plain family: what is above it and it picked is worth, and what its fall costs."""
    gamma, loss = splat(0.0), splat(0.0)
    if picks:
        for i in range(begin, end, LANES):
            a0, b1, c1, c0 = load(A0, base + i), load(B1, i), load(C1, i), load(C0, i)
            gamma = gamma + a0 * b1
            loss = loss + load(A1, base + i) * c1 + a0 * c0
            store(B1, i, q * b1 + p * load(B1, i + shift))
            store(C1, i, q * c1 + p * load(C1, i + shift))
            store(C0, i, q * c0 + p * load(C0, i + shift) + cw * c1)
    else:
        for i in range(begin, end, LANES):
            b1, c1, c0 = load(B1, i), load(C1, i), load(C0, i)
            loss = loss + load(A1, base + i) * c1 + load(A0, base + i) * c0
            store(B1, i, q * b1 + p * load(B1, i + shift))
            store(C1, i, q * c1 + p * load(C1, i + shift))
            store(C0, i, q * c0 + p * load(C0, i + shift))
    return gamma, loss, splat(0.0)


@routine
def forward_plain(coef, P, Q, W, width, first, last, stride, A0, A1):
    """``forward`` of the plain family in lanes, all ``width`` cells of every row."""
    for j in range(first, last):
        p, q, cw = load(P, LANES * j), load(Q, LANES * j), load(W, LANES * j) * splat(coef[j])
        old, new = (j - first) * stride + GUARD, (j + 1 - first) * stride + GUARD
        for i in range(0, width, LANES):
            a0 = load(A0, old + i)
            store(A0, new + i, q * a0 + p * load(A0, old + i - LANES))
            store(A1, new + i, q * load(A1, old + i) + p * load(A1, old + i - LANES) + cw * a0)
        close_row(A0, new, 0, width)
        close_row(A1, new, 0, width)


@routine
def backward_plain(
    law, coef, least, weights, P, Q, W, R, width, first, last, stride, exact, A0, A1, B1, C1, C0, sums
):  # fmt: skip
    """``backward`` of the plain family in lanes, all ``width`` cells of every row."""
    gradient, push, hessian, _, drift, curl, _ = sums
    at = load(weights, 0)
    for j in range(last - 1, first - 1, -1):
        p, q, w, r = load(P, LANES * j), load(Q, LANES * j), load(W, LANES * j), load(R, LANES * j)
        c, base = splat(coef[j]), (j - first) * stride + GUARD
        gamma, loss, _ = step_back_plain(A0, A1, base, B1, C1, C0, 0, width, LANES, p, q, w * c, True)
        loss, pull, w_at = w * loss, w * gamma, w * at
        gradient[j] += lane_sum(c * pull * r - loss)
        push[j] += lane_sum(loss + splat(least) * pull * r)
        drift[j] += lane_sum(w_at * r)
        if exact:
            r2 = second_ratio(law, w, r)
            hessian[j] += lane_sum(c * pull * r2 - loss * r)
            curl[j] += lane_sum(w_at * r2)


@routine
def _backward_absorbing(A0, A1, base, B1, B0, C1, C0, begin, end, shift, p, q, cw):
    gamma, loss, extra = splat(0.0), splat(0.0), splat(0.0)
    for i in range(begin, end, LANES):
        a0, a1 = load(A0, base + i), load(A1, base + i)
        b1, b0, c1, c0 = load(B1, i), load(B0, i), load(C1, i), load(C0, i)
        up1, up0 = load(B1, i + shift), load(B0, i + shift)
        gamma = gamma + a0 * b1
        loss = loss + a1 * c1 + a0 * c0
        extra = extra - a1 * up1 - a0 * up0
        store(B1, i, q * b1 + p * up1)
        store(B0, i, q * b0 + p * up0 + cw * b1)
        store(C1, i, q * c1 + p * load(C1, i + shift))
        store(C0, i, q * c0 + p * load(C0, i + shift) + cw * c1)
    return gamma, loss, extra


@routine
def _backward_marked(A0, A1, M0, M1, base, B1, B0, BM, C1, C0, CM, CM0, begin, end, shift, p, q, cw, rp):
    # B1: picked, mark still open; BM: picked and marked; B0: marked, pick still open. C's alike; CM0: neither.
    gamma, loss, extra = splat(0.0), splat(0.0), splat(0.0)
    for i in range(begin, end, LANES):
        a0, a1, m0, m1 = load(A0, base + i), load(A1, base + i), load(M0, base + i), load(M1, base + i)
        b1, b0, bm = load(B1, i), load(B0, i), load(BM, i)
        c1, c0, cm, cn = load(C1, i), load(C0, i), load(CM, i), load(CM0, i)
        up0, upm = load(B0, i + shift), load(BM, i + shift)
        nm, n0 = load(CM, i + shift), load(C0, i + shift)
        gamma = gamma + a0 * b1 + m0 * bm
        loss = loss + a0 * cn + a1 * c1 + m0 * c0 + m1 * cm
        extra = extra + a0 * up0 + a1 * upm
        store(B1, i, q * b1 + p * load(B1, i + shift) + rp * upm)
        store(BM, i, q * bm + p * upm)
        store(B0, i, q * b0 + p * up0 + cw * bm)
        store(C1, i, q * c1 + p * load(C1, i + shift) + rp * nm)
        store(CM, i, q * cm + p * nm)
        store(C0, i, q * c0 + p * n0 + cw * cm)
        store(CM0, i, q * cn + p * load(CM0, i + shift) + cw * c1 + rp * n0)
    return gamma, loss, extra


@routine
def backward(family, shift, law, coef, least, weights, P, Q, W, R, start, stop, first, last, stride, A, B, sums):
    """From row ``last`` back to row ``first``, adding what these nodes give to each document's integrals.

    With T and G as the flow's two factors, ``sums`` are, per document: gradient = coef T - G; push = G + least T,
    where ``least`` is what had been taken off every gain; the exact second derivative; and what
    ``remove_drift`` needs: the integrals of w, w r, w r2 (1, 0, 0 but for the rule's error) and of Gamma w.
    """
    A0, A1, M0, M1 = A
    B1, B0, BM, C1, C0, CM, CM0 = B
    gradient, push, hessian, mass, drift, curl, level = sums
    at = load(weights, 0)
    for j in range(last - 1, first - 1, -1):
        p, q, w, r = _value(P, j, shift), _value(Q, j, shift), _value(W, j, shift), _value(R, j, shift)
        c = coef[j]
        base = (j - first) * stride + GUARD - start[j]
        begin, end = start[j], row_end(start[j], stop[j])
        picks = c + least != 0.0
        if family == PLAIN:
            gamma, loss, extra = step_back_plain(A0, A1, base, B1, C1, C0, begin, end, shift, p, q, w * splat(c), picks)
        elif family == ABSORBING:
            gamma, loss, extra = _backward_absorbing(
                A0, A1, base, B1, B0, C1, C0, begin, end, shift, p * splat(1.0 - c), q, w * splat(c)
            )
        else:
            gamma, loss, extra = _backward_marked(
                A0,
                A1,
                M0,
                M1,
                base,
                B1,
                B0,
                BM,
                C1,
                C0,
                CM,
                CM0,
                begin,
                end,
                shift,
                p,
                q,
                w * splat(c),
                p * splat(c),
            )
        loss = w * loss
        if not picks:
            gradient[j] -= lane_sum(loss)
            push[j] += lane_sum(loss)
            hessian[j] -= lane_sum(loss * r)
            continue
        pull = w * (gamma * r + extra)
        r2 = second_ratio(law, w, r)
        gradient[j] += lane_sum(splat(c) * pull - loss)
        push[j] += lane_sum(loss + splat(least) * pull)
        hessian[j] += lane_sum(splat(c) * w * (gamma * r2 + extra * r) - loss * r)
        w_at = w * at
        mass[j] += lane_sum(w_at)
        drift[j] += lane_sum(w_at * r)
        curl[j] += lane_sum(w_at * r2)
        level[j] += lane_sum(gamma * w)


@routine
def remove_drift(family, beyond, u, coef, least, first, last, ranks, discount, sums):
    """Take the rule's own error out of documents first..last, whose whole density the nodes have covered.

    The integrals of w r and w r2 are 0. Where the rule gives drift instead, a Gamma that hardly changes along
    the document's density (one that is nearly certain of its rank) would turn it into a false gradient, larger
    than the true one: so the mean of Gamma is taken out; in a plain metric, the discount at the document's own
    rank, or the mean over its ties, which is that mean where it matters; with ``beyond``, where ``level`` has how far
    the mean is from that discount, the mean. Of the first of thousands of near ties it is far.
    """
    gradient, push, hessian, mass, drift, curl, level = sums
    mean, behind = 0.0, first  # the mean is that of all documents up to ``behind``
    for j in range(first, last):
        if family != PLAIN:
            mean = level[j] / mass[j] if mass[j] > 0.0 else 0.0
        elif beyond:
            mean = discount[j] + level[j]
        elif j == behind:
            total = 0.0
            while behind < last and u[behind] == u[j]:
                total += discount[behind] if behind < ranks else 0.0
                behind += 1
            mean = total / (behind - j)
        gradient[j] -= coef[j] * mean * drift[j]
        push[j] -= least * mean * drift[j]
        hessian[j] -= coef[j] * mean * curl[j]
