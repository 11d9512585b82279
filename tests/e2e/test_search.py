"""Experiment files from the command line, without a cluster."""

CONFIG = """\
hyperparameters:
  lr: {type: log, minval: -4, maxval: -1}
searcher:
  name: adaptive_asha
  metric: accuracy
  smaller_is_better: false
  max_trials: 100
  time_metric: epochs
  max_time: 64
"""


def test_preview_of_an_experiment_file(cluster):
    (cluster.work / "asha.yaml").write_text(CONFIG)
    text = cluster.run("muster", "preview-search", "asha.yaml").out
    assert text.startswith("adaptive_asha: 100 trials, 16 at once; more in accuracy is better\n") and "\nIn all " in text
    changed = cluster.run("muster", "preview-search", "-", "--config", "searcher.max_trials=7", stdin=CONFIG).out
    assert changed.startswith("adaptive_asha: 7 trials, 7 at once;")


def test_preview_names_all_that_is_wrong_with_file_and_line(cluster):
    (cluster.work / "asha.yaml").write_text(CONFIG.replace("max_time: 64", "max_tme: 64").replace("100", "none"))
    result = cluster.run("muster", "preview-search", "asha.yaml", check=False)
    prefix = "muster preview-search: error: asha.yaml: line "
    assert result.code == 1 and result.out == ""
    assert result.err.splitlines() == [
        prefix + '7: searcher.max_trials: "none" is not possible; give a whole number from 1 to 100000',
        prefix + "3: searcher: 'max_time' is missing; give how long the best trials train, in units of time_metric",
        prefix + "9: searcher.max_tme: there is no such field here; is it 'max_time'?"]
    result = cluster.run("muster", "preview-search", "nowhere.yaml", check=False)
    assert (result.code, result.err) == (1, "muster preview-search: error: cannot read nowhere.yaml: No such file or directory\n")


def test_check_of_a_whole_file_with_a_template_under_it(cluster):
    (cluster.work / "asha.yaml").write_text("name: asha\n" + CONFIG)
    (cluster.work / "site.yaml").write_text("entrypoint: python3 train.py\nresources: {slots_per_trial: 2}\n")
    result = cluster.run("muster", "experiment", "check", "asha.yaml", check=False)
    assert result.code == 1 and "'entrypoint' is missing" in result.err
    told = cluster.run("muster", "experiment", "check", "asha.yaml", "--template", "site.yaml").out
    assert told == 'asha.yaml: right. Experiment "asha" with 2 slots each, metric accuracy, 5 restarts\n'
    result = cluster.run("muster", "experiment", "check", "asha.yaml", "--template", "site.yaml",
                         "--config", "environment.image=my/image", check=False)
    assert result.code == 1 and "error: asha.yaml over site.yaml: environment.image: trials run without containers; take it out" in result.err
    result = cluster.run("muster", "experiment", "check", "asha.yaml", "--template", "small", check=False)
    assert result.code == 1 and "cannot read small: No such file or directory; " in result.err
    assert "muster template describe small > small.yaml" in result.err
    assert cluster.run("muster", "experiment", "fly", check=False).err == \
        "muster experiment: error: there is no verb 'fly'; see muster experiment --help\n"


def test_an_answer_that_cannot_be_written_is_a_failure(cluster):
    for words in (["muster", "preview-search", "asha.yaml"], ["squeue"], ["sinfo", "--help"]):
        (cluster.work / "asha.yaml").write_text(CONFIG)
        result = cluster.run("sh", "-c", '"$@" > /dev/full', "sh", *words, check=False)
        assert result.code == 1 and "cannot write to standard output: No space left on device" in result.err, (words, result)


def test_files_that_would_fill_the_memory_are_refused(cluster):
    (cluster.work / "comma.yaml").write_text(",")
    for name, words in (("/dev/zero", "more than 16 MiB"), ("comma.yaml", "line 1: ")):
        result = cluster.run("muster", "experiment", "check", name, check=False, timeout=20)
        assert result.code == 1 and words in result.err
