"""How a long text is spoken of that stands for one sign in the composer. Pure."""

from app.wording_measures import noun


def size_words(characters: int) -> str:
    """About how long, as a person says it."""
    if characters < 1000:
        return f"{characters} B"
    if characters < 999_500:
        return f"{characters / 1000:.0f} kB"
    return f"{characters / 1_000_000:.1f} MB"


def bundle_words(texts: tuple[str, ...], sign: str) -> str:
    if not texts:
        return ""
    told = []
    for text in texts[:4]:
        lines = text.count("\n") + 1
        told.append(f"{lines:,} {noun(lines, 'line')}, {size_words(len(text.encode('utf-8', 'replace')))}")
    more = f" and {len(texts) - 4} more" if len(texts) > 4 else ""
    return f"{sign} stands for a long text ({'; '.join(told)}{more}): it is sent whole, ^G opens it"
